"""foreach.cpp against definitions in float64."""

import torch
from checks import DEVICE, FLOATS, drawn

from cases import randn, rows, table, uniform
from direct import call, fails

COUNT = 60  # torch_npu passes at most about 50 tensors at once


def lists(function, number=1):
    """Apply the function to `number` lists of tensors, made of the rows of as many inputs."""
    return lambda *inputs: function(*[list(x.unbind()) for x in inputs[:number]])


def inplace(function, number=1):
    def run(*inputs):
        tensors = [[row.clone() for row in x.unbind()] for x in inputs[:number]]
        function(*tensors)
        return tensors[0]

    return run


def foreach(name, number=1, *, arguments=(), make=randn, dtypes=FLOATS[::2], **options):
    """A call with each dtype, in turn in place and not: the entry point is the same. Many tensors with the first dtype."""
    functions = {name: lambda f: lists(f, number), f"{name}_": lambda f: inplace(f, number)}
    found = []
    for i, dtype in enumerate(dtypes if len(dtypes) > 1 else dtypes * 2):
        count = COUNT if i == 0 or any(isinstance(x, (list, torch.Tensor)) for x in arguments) else 3
        called, form = list(functions.items())[i % 2]
        function = getattr(torch, f"_foreach_{called}")
        call = form(lambda *x, f=function: f(*x, *arguments))
        found += rows(called, call, *[make(count, 3, 2)] * number, dtypes=(dtype,), close=True, **options)
    return found


def positive(*shape):
    return uniform(*shape, low=0.1, high=0.9)


def norms(order):
    return lists(lambda x: torch._foreach_norm(x, order))


ROUNDED = {"dtypes": FLOATS[::2], "close": True, "upcast": True}
UNARY = "sqrt exp expm1 log log1p log2 log10 erf erfc sin sinh cos cosh tan tanh asin acos atan sigmoid neg abs reciprocal sign"
BINARY = ("add", "sub", "mul", "div", "pow", "maximum", "minimum")
SCALARS = [0.5 + 0.25 * i for i in range(COUNT)]
FLOAT = (torch.float32,)
CASES = [
    *(row for name in UNARY.split() for row in foreach(name, make=positive, dtypes=(torch.float32, torch.float16))),
    *(row for name in ("floor", "ceil", "round", "trunc", "frac") for row in foreach(name, dtypes=(torch.float32, torch.float16))),
    *(row for name in BINARY for row in foreach(name, 2, make=positive)),
    *(row for name in (*BINARY, "clamp_min", "clamp_max") for row in foreach(name, make=positive, arguments=(0.5,))),
    *(row for name in BINARY for row in foreach(name, make=positive, arguments=(SCALARS,), dtypes=FLOAT)),
    *(row for name in ("addcmul", "addcdiv") for row in foreach(name, 3, make=positive, arguments=(0.3,))),
    *(row for name in ("addcmul", "addcdiv") for row in foreach(name, 3, make=positive, arguments=(SCALARS,), dtypes=FLOAT)),
    *foreach("lerp", 3, dtypes=FLOAT),
    *foreach("lerp", 2, arguments=(0.3,), dtypes=FLOAT),
    *rows("pow-number", lists(lambda x: torch._foreach_pow(2.0, x)), positive(COUNT, 4), close=True),
    *rows("copy_", inplace(torch._foreach_copy_, 2), randn(COUNT, 4), randn(COUNT, 4), dtypes=(torch.bfloat16, torch.int64)),
    *rows("zero_", inplace(torch._foreach_zero_), randn(COUNT, 4), dtypes=(torch.float32, torch.int32)),
    *(row for order in (1, 2, float("inf")) for row in rows(f"norm-{order}", norms(order), randn(COUNT, 4), **ROUNDED)),
    *rows("strided", lambda x, y: torch._foreach_add([x[:, ::2], x.t()], [y[:, ::2], y.t()]), *[randn(4, 6)] * 2),
]
test_torchs_functions = table(CASES)


def test_rounding():
    values, out = drawn(3, 4).float(), torch.empty(3, 4, device=DEVICE)
    for mode, function in ((1, torch.round), (2, torch.floor), (3, torch.ceil), (5, torch.trunc), (7, torch.frac)):
        call("aclnnForeachRoundOffNumber", (values,), torch.tensor([mode], dtype=torch.int8), (out,))
        assert torch.equal(out.cpu(), function(values))
    words = "roundMode: expected 1 round, 2 floor, 3 ceil, 5 trunc or 7 frac, got 4"
    fails(words, "aclnnForeachRoundOffNumber", (values,), torch.tensor([4], dtype=torch.int8), (out,), code=161002)
