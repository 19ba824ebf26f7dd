"""foreach.cpp: operators on lists, in place and not, in more chunks than one."""

import pytest
import torch

from cases import DEVICE, FLOATS, randn, rows, table, uniform

COUNT = 60  # torch_npu passes at most about 50 tensors at once


def lists(function, number=1):
    """The function of so many lists of tensors, made of the rows of as many inputs."""
    return lambda *inputs: function(*[list(x.unbind()) for x in inputs[:number]])


def inplace(function, number=1):
    def run(*inputs):
        tensors = [[row.clone() for row in x.unbind()] for x in inputs[:number]]
        function(*tensors)
        return tensors[0]

    return run


def foreach(name, number=1, *, arguments=(), make=randn, dtypes=FLOATS, **options):
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


UNARY = [
    "sqrt",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "erf",
    "erfc",
    "sin",
    "sinh",
    "cos",
    "cosh",
    "tan",
    "tanh",
    "asin",
    "acos",
    "atan",
    "sigmoid",
    "neg",
    "abs",
    "reciprocal",
    "sign",
]
SCALARS = [0.5 + 0.25 * i for i in range(COUNT)]
FLOAT = (torch.float32,)

CASES = [
    *(row for name in UNARY for row in foreach(name, make=positive, dtypes=(torch.float32, torch.float16))),
    *(row for name in ("floor", "ceil", "round", "trunc", "frac") for row in foreach(name, dtypes=(torch.float32, torch.float16))),
    *(row for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum") for row in foreach(name, 2, make=positive)),
    *(
        row
        for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max")
        for row in foreach(name, make=positive, arguments=(0.5,))
    ),
    *(
        row
        for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum")
        for row in foreach(name, make=positive, arguments=(SCALARS,), dtypes=FLOAT)
    ),
    *(row for name in ("add", "sub", "mul") for row in foreach(name, 2, dtypes=(torch.int32,))),
    *(row for name in ("addcmul", "addcdiv") for row in foreach(name, 3, make=positive, arguments=(0.3,))),
    *(row for name in ("addcmul", "addcdiv") for row in foreach(name, 3, make=positive, arguments=(SCALARS,), dtypes=FLOAT)),
    *(row for name in ("addcmul", "addcdiv") for row in foreach(name, 3, make=positive, arguments=(torch.tensor(SCALARS),), dtypes=FLOAT)),
    *foreach("lerp", 3, dtypes=FLOAT),
    *foreach("lerp", 2, arguments=(0.3,), dtypes=FLOAT),
    *rows(
        "add-alpha",
        lists(lambda x, y: torch._foreach_add(x, y, alpha=0.3), 2),
        *[randn(COUNT, 4)] * 2,
        dtypes=FLOATS,
        close=True,
        rounded_once=True,
    ),
    *rows(
        "sub-alpha",
        lists(lambda x, y: torch._foreach_sub(x, y, alpha=3), 2),
        *[randn(COUNT, 4)] * 2,
        dtypes=FLOATS,
        close=True,
        rounded_once=True,
    ),
    *rows("pow-number", lists(lambda x: torch._foreach_pow(2.0, x)), positive(COUNT, 4), close=True),
    *rows("copy_", inplace(torch._foreach_copy_, 2), *[randn(COUNT, 4)] * 2, dtypes=(*FLOATS, torch.int64)),
    *rows("zero_", inplace(torch._foreach_zero_), randn(COUNT, 4), dtypes=(*FLOATS, torch.int32)),
    *(
        row
        for order in (1, 2, float("inf"))
        for row in rows(
            f"norm-{order}", lists(lambda x, o=order: torch._foreach_norm(x, o)), randn(COUNT, 4), dtypes=FLOATS, close=True, upcast=True
        )
    ),
    *rows("strided", lambda x, y: torch._foreach_add([x[:, ::2], x.t()], [y[:, ::2], y.t()]), *[randn(4, 6)] * 2),
    *rows("empty", lambda x: torch._foreach_mul([x, x + 1], 2.0), randn(0, 3)),
]


@table(CASES)
def test_foreach(case):
    case.check()


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("order", [1.0, 2.0, float("inf")])
def test_clip_grad_norm(order, foreach):
    gradients, norms = [], []
    for device in ("cpu", DEVICE):
        generator = torch.Generator().manual_seed(0)
        parameters = [torch.zeros(n, 3, device=device, requires_grad=True) for n in range(1, 9)]
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator).to(device)
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, 0.5, order, foreach=foreach).cpu())
        gradients.append([parameter.grad.cpu() for parameter in parameters])
    torch.testing.assert_close(*norms)
    torch.testing.assert_close(*gradients)
