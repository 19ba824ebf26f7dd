"""pointwise_unary.cpp: functions of one tensor, element by element."""

import torch

from cases import DEVICE, FLOATS, HALVES, LAYOUTS, integers, randn, rows, table, uniform, values

INTEGERS = (torch.int64, torch.int32)

# name: the interval that it is defined on
UNARY = {
    "abs": (-4, 4),
    "neg": (-4, 4),
    "sign": (-4, 4),
    "ceil": (-4, 4),
    "floor": (-4, 4),
    "round": (-4, 4),
    "trunc": (-4, 4),
    "frac": (-4, 4),
    "sqrt": (0, 9),
    "rsqrt": (0.1, 9),
    "reciprocal": (0.1, 9),
    "log": (0.1, 9),
    "log1p": (-0.9, 9),
    "log2": (0.1, 9),
    "log10": (0.1, 9),
    "exp": (-4, 4),
    "exp2": (-4, 4),
    "expm1": (-4, 4),
    "sin": (-4, 4),
    "cos": (-4, 4),
    "tan": (-1.4, 1.4),
    "sinh": (-3, 3),
    "cosh": (-3, 3),
    "tanh": (-3, 3),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-4, 4),
    "asinh": (-4, 4),
    "acosh": (1, 9),
    "atanh": (-0.9, 0.9),
    "erf": (-3, 3),
    "erfc": (-3, 3),
    "erfinv": (-0.9, 0.9),
    "sigmoid": (-4, 4),
    "sinc": (-4, 4),
}
PROMOTING = ("sqrt", "rsqrt", "reciprocal", "log", "log1p", "log2", "log10", "exp", "sin", "cos", "tanh", "sigmoid", "erf")

# A vectorised kernel may round its tail and its body differently, and strides decide which is which: hence close.
# Two macros make them all, so that they take half types and layouts in turn.
CASES = [
    *[
        c
        for i, (n, (low, high)) in enumerate(UNARY.items())
        for c in (
            *rows(
                n, getattr(torch, n), uniform(3, 37, low=low, high=high), dtypes=(torch.float32, HALVES[i % 2]), layouts=LAYOUTS, close=True
            ),
            *rows(f"{n}_", getattr(torch.Tensor, f"{n}_"), uniform(3, 5, low=low, high=high), layouts=LAYOUTS[i % 2 :][:1], close=True),
        )
    ],
    *[c for n in PROMOTING for c in rows(n, getattr(torch, n), integers(2, 3, low=1, high=5), close=True)],
    *rows("empty", torch.exp, randn(0, 3)),
    *rows("scalar", torch.exp, randn()),
    *rows("abs", torch.abs, randn(3, 4), dtypes=INTEGERS),
    *rows("neg", torch.neg, randn(3, 4), dtypes=INTEGERS),
    *rows("sign", torch.sign, randn(3, 4), dtypes=INTEGERS),
    *rows("sgn-complex", torch.sgn, randn(3, 4), dtypes=(torch.complex64,), close=True),
    *rows("bitwise_not", torch.bitwise_not, randn(3, 4), dtypes=(*INTEGERS, torch.bool)),
    *rows("logical_not", torch.logical_not, randn(3, 4), dtypes=(torch.float32, torch.int64, torch.bool)),
    *rows("logical_not_", lambda x: x.logical_not_(), randn(3, 4), dtypes=(torch.float32, torch.bool)),
    *rows("signbit", torch.signbit, values([-0.0, 0.0, -1.0, float("inf")])),
    *rows("isfinite", torch.isfinite, values([0.0, float("inf"), float("nan"), -float("inf")])),
    *rows("isinf", torch.isinf, values([0.0, float("inf"), float("nan"), -float("inf")])),
    *rows("isnan", torch.isnan, values([0.0, float("inf"), float("nan"), -float("inf")])),
    *rows("isposinf", torch.isposinf, values([0.0, float("inf"), float("nan"), -float("inf")])),
    *rows("isneginf", torch.isneginf, values([0.0, float("inf"), float("nan"), -float("inf")])),
    *rows("nan_to_num", torch.nan_to_num, values([1.0, float("inf"), float("nan"), -float("inf")])),
    *rows("nan_to_num-values", lambda x: torch.nan_to_num(x, 1.5, 2.5, -3.5), values([1.0, float("inf"), float("nan"), -float("inf")])),
    *rows("nan_to_num_", lambda x: x.nan_to_num_(), values([1.0, float("inf"), float("nan"), -float("inf")])),
    *rows("round-decimals", lambda x: torch.round(x, decimals=2), randn(3, 4)),
    *rows("round_-decimals", lambda x: x.round_(decimals=1), randn(3, 4)),
    *rows("angle", torch.angle, randn(3, 4)),
    *rows("square", torch.square, randn(3, 4), dtypes=FLOATS),
    *rows("clamp", lambda x: x.clamp(-0.5, 0.5), randn(3, 4), dtypes=(*FLOATS, torch.float64), layouts=LAYOUTS),
    *rows("clamp-integer", lambda x: x.clamp(-1, 2), randn(3, 4), dtypes=INTEGERS),
    *rows("clamp-low", lambda x: x.clamp(min=-0.5), randn(3, 4)),
    *rows("clamp-high", lambda x: x.clamp(max=0.5), randn(3, 4)),
    *rows("clamp-tensor", lambda x, low, high: x.clamp(low, high), randn(3, 4), uniform(4, low=-1, high=0), uniform(3, 1)),
    *rows("clamp-tensor-low", lambda x, low: x.clamp(min=low), randn(3, 4), randn(4)),
    *rows("clamp_", lambda x: x.clamp_(-0.5, 0.5), randn(3, 4), layouts=LAYOUTS),
    *rows("clamp_min", lambda x: x.clamp_min(0.1), randn(3, 4)),
    *rows("clamp_max", lambda x: x.clamp_max(0.1), randn(3, 4)),
    *rows("clamp_min-tensor", torch.clamp_min, randn(3, 4), randn(4)),
    *rows("clamp_max-tensor", torch.clamp_max, randn(3, 4), randn(4)),
    *rows("clamp_min_", lambda x: x.clamp_min_(0.1), randn(3, 4)),
    *rows("clamp_max_", lambda x: x.clamp_max_(0.1), randn(3, 4)),
    *rows("clamp_min_-tensor", lambda x, y: x.clamp_min_(y), randn(3, 4), randn(4)),
    *rows("clamp_max_-tensor", lambda x, y: x.clamp_max_(y), randn(3, 4), randn(4)),
]

GRADIENTS = [
    *[
        case
        for name in ("exp", "log", "sqrt", "sin", "tanh", "sigmoid", "rsqrt", "reciprocal", "log1p", "erf")
        for case in rows(name, getattr(torch, name), uniform(3, 4, low=0.1), backward=True, close=True)
    ],
    *rows("clamp", lambda a: a.clamp(-0.5, 0.5), randn(3, 4), backward=True),
    *rows("abs", torch.abs, randn(3, 4), backward=True),
]


@table(CASES)
def test_unary(case):
    case.check()


@table(GRADIENTS)
def test_gradients(case):
    case.check()


def test_integers_have_no_fraction():
    x = torch.tensor([3, 0, -7]).to(DEVICE)
    assert x.frac().tolist() == x.frac_().tolist() == [0, 0, 0]
