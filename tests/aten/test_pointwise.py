"""pointwise_unary.cpp and pointwise_binary.cpp: arithmetic, element by element."""

import pytest
import torch
from cases import DEVICE, FLOATS, LAYOUTS, booleans, integers, randn, rows, table, uniform, values

INTEGERS = (torch.int64, torch.int32)

# name: the interval that it is defined on, and whether it also takes integers
UNARY = {
    "abs": (-4, 4), "neg": (-4, 4), "sign": (-4, 4), "ceil": (-4, 4), "floor": (-4, 4), "round": (-4, 4), "trunc": (-4, 4),
    "frac": (-4, 4), "sqrt": (0, 9), "rsqrt": (0.1, 9), "reciprocal": (0.1, 9), "log": (0.1, 9), "log1p": (-0.9, 9), "log2": (0.1, 9),
    "log10": (0.1, 9), "exp": (-4, 4), "exp2": (-4, 4), "expm1": (-4, 4), "sin": (-4, 4), "cos": (-4, 4), "tan": (-1.4, 1.4),
    "sinh": (-3, 3), "cosh": (-3, 3), "tanh": (-3, 3), "asin": (-1, 1), "acos": (-1, 1), "atan": (-4, 4), "asinh": (-4, 4),
    "acosh": (1, 9), "atanh": (-0.9, 0.9), "erf": (-3, 3), "erfc": (-3, 3), "erfinv": (-0.9, 0.9), "sigmoid": (-4, 4), "sinc": (-4, 4),
}  # fmt: skip
PROMOTING = ("sqrt", "rsqrt", "reciprocal", "log", "log1p", "log2", "log10", "exp", "sin", "cos", "tanh", "sigmoid", "erf")

# A vectorised kernel may round its tail and its body differently, and strides decide which is which: hence close.
UNARY_CASES = [
    *[c for n, (low, high) in UNARY.items() for c in rows(n, getattr(torch, n), uniform(3, 37, low=low, high=high), dtypes=FLOATS, layouts=LAYOUTS, close=True)],
    *[c for n, (low, high) in UNARY.items() for c in rows(f"{n}_", getattr(torch.Tensor, f"{n}_"), uniform(3, 5, low=low, high=high), layouts=LAYOUTS, close=True)],
    *[c for n in PROMOTING for c in rows(n, getattr(torch, n), integers(2, 3, low=1, high=5), close=True)],
    *rows("empty", torch.exp, randn(0, 3)),
    *rows("scalar", torch.exp, randn()),
    *rows("abs", torch.abs, randn(3, 4), dtypes=INTEGERS),
    *rows("neg", torch.neg, randn(3, 4), dtypes=INTEGERS),
    *rows("sign", torch.sign, randn(3, 4), dtypes=INTEGERS),
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
    *rows("clamp_min_", lambda x: x.clamp_min_(0.1), randn(3, 4)),
    *rows("clamp_max_", lambda x: x.clamp_max_(0.1), randn(3, 4)),
    *rows("clamp_min_-tensor", lambda x, y: x.clamp_min_(y), randn(3, 4), randn(4)),
    *rows("clamp_max_-tensor", lambda x, y: x.clamp_max_(y), randn(3, 4), randn(4)),
]

PAIR = (randn(3, 4), uniform(4, low=0.5, high=2))

BINARY_CASES = [
    *[
        case
        for name, function in {
            "add": lambda a, b: a + b, "add-alpha": lambda a, b: torch.add(a, b, alpha=2), "sub": lambda a, b: a - b,
            "sub-alpha": lambda a, b: torch.sub(a, b, alpha=0.5), "rsub": torch.rsub, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
            "div-trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"), "div-floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
            "floor_divide": lambda a, b: a // b, "fmod": torch.fmod, "remainder": lambda a, b: a % b, "atan2": torch.atan2,
            "lerp": lambda a, b: torch.lerp(a, b, 0.3), "add_": lambda a, b: a.add_(b), "sub_": lambda a, b: a.sub_(b, alpha=2),
            "mul_": lambda a, b: a.mul_(b), "div_": lambda a, b: a.div_(b), "div_-trunc": lambda a, b: a.div_(b, rounding_mode="trunc"),
            "floor_divide_": lambda a, b: a.floor_divide_(b), "fmod_": lambda a, b: a.fmod_(b), "remainder_": lambda a, b: a.remainder_(b),
            "atan2_": lambda a, b: a.atan2_(b), "pow_": lambda a, b: a.abs_().pow_(b), "copysign": lambda a, b: torch.maximum(a, b),
        }.items()
        for case in rows(name, function, *PAIR, dtypes=FLOATS, layouts=LAYOUTS, close=True)
    ],
    *[
        case
        for name, function in {
            "add-number": lambda a: a + 1.3, "add-integer": lambda a: a + 1, "radd": lambda a: 1.3 + a, "sub-number": lambda a: a - 1.3,
            "rsub-number": lambda a: 1.3 - a, "mul-number": lambda a: a * 1.3, "div-number": lambda a: a / 1.3, "rdiv": lambda a: 1.3 / (a.abs() + 1),
            "div-number-floor": lambda a: torch.div(a, 0.3, rounding_mode="floor"), "floor_divide-number": lambda a: a // 0.3,
            "fmod-number": lambda a: torch.fmod(a, 0.7), "remainder-number": lambda a: a % 0.7, "rremainder": lambda a: 2 % (a.abs() + 1),
            "pow-2": lambda a: a**2, "pow-3": lambda a: a**3, "pow-half": lambda a: a.abs() ** 0.5, "pow--1": lambda a: (a.abs() + 1) ** -1,
            "rpow": lambda a: 2**a, "add_-number": lambda a: a.add_(1.3), "sub_-number": lambda a: a.sub_(1.3), "mul_-number": lambda a: a.mul_(1.3),
            "div_-number": lambda a: a.div_(1.3), "div_-number-trunc": lambda a: a.div_(0.3, rounding_mode="trunc"), "pow_-2": lambda a: a.pow_(2),
            "fmod_-number": lambda a: a.fmod_(0.7), "remainder_-number": lambda a: a.remainder_(0.7), "floor_divide_-number": lambda a: a.floor_divide_(0.3),
            "xlogy-number": lambda a: torch.xlogy(a, 2.0), "xlogy-rnumber": lambda a: torch.xlogy(2.0, a.abs() + 1),
            "xlogy_-number": lambda a: a.xlogy_(2.0),
        }.items()
        for case in rows(name, function, randn(3, 4), dtypes=FLOATS, layouts=LAYOUTS, close=True)
    ],
    *[
        case
        for name, function in {
            "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
            "div-trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"), "floor_divide": lambda a, b: a // b, "remainder": lambda a, b: a % b,
            "fmod": torch.fmod, "gcd": torch.gcd, "pow": lambda a, b: a**b, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
            "xor": lambda a, b: a ^ b, "and_": lambda a, b: a.bitwise_and_(b), "xor_": lambda a, b: a.bitwise_xor_(b),
        }.items()
        for case in rows(name, function, randn(3, 4), integers(4, low=1, high=6, dtype=None), dtypes=INTEGERS, layouts=LAYOUTS)
    ],
    *rows("and-number", lambda a: a & 6, randn(3, 4), dtypes=INTEGERS),
    *rows("or-number", lambda a: a | 6, randn(3, 4), dtypes=INTEGERS),
    *rows("xor-number", lambda a: a ^ 6, randn(3, 4), dtypes=INTEGERS),
    *rows("and_-number", lambda a: a.bitwise_and_(6), randn(3, 4), dtypes=INTEGERS),
    *rows("xor_-number", lambda a: a.bitwise_xor_(6), randn(3, 4), dtypes=INTEGERS),
    *rows("bool-and", lambda a, b: (a & b, a | b, a ^ b, ~a), booleans(7), booleans(7)),
    *rows("bool-add", lambda a: a + 1, booleans(7)),
    *rows("bool-mul", lambda a, b: a * b, booleans(7), randn(7)),
    *rows("logical_and", torch.logical_and, randn(9, dtype=torch.int64), booleans(9)),
    *rows("logical_or", torch.logical_or, randn(9, dtype=torch.int64), booleans(9)),
    *rows("logical_xor", torch.logical_xor, randn(9, dtype=torch.int64), booleans(9)),
    *rows("logical_and_", lambda a, b: a.logical_and_(b), randn(9, dtype=torch.int64), booleans(9)),
    *rows("logical_or_", lambda a, b: a.logical_or_(b), randn(9, dtype=torch.int64), booleans(9)),
    *rows("promotion", lambda a, b: (a + b, a * b, a - b, a / b), randn(3), randn(3, dtype=torch.int64)),
    *rows("promotion-half", lambda a, b: (a + b, a * b), randn(3, dtype=torch.float16), randn(3)),
    *rows("promotion-0-dim", lambda a, b: (a + b, b * a), randn(3, dtype=torch.float16), randn()),
    *rows("promotion-cpu", lambda a: (a + torch.tensor(1.5), a * torch.tensor(2)), randn(3, dtype=torch.float16)),
    *rows("promotion-cpu-left", lambda a: (torch.tensor(1.5) + a, torch.tensor(1.5) - a, torch.tensor(2.5) * a, torch.tensor(2.5) / a), randn(3)),
    *rows("integer-and-number", lambda a: (a + 1.5, a * 2, a / 2, a - 1), randn(3, dtype=torch.int64)),
    *rows("in-place-cast", lambda a, b: a.add_(b), randn(3, dtype=torch.float16), randn(3)),
    *rows("broadcast", lambda a, b: a * b + a, randn(3, 1, 2), randn(4, 1), dtypes=FLOATS),
    *rows("broadcast-empty", lambda a, b: a * b, randn(0, 4), randn(4)),
    *rows("float64", lambda a, b: (a + b, a * b, a / b, a - b), randn(3, 4), randn(4), dtypes=(torch.float64,)),
    *rows("complex", lambda a, b: (a + b, a * b), randn(3, dtype=torch.complex64), randn(3, dtype=torch.complex64)),
    *rows("pow", lambda a, b: a.abs() ** b, randn(3, 4), randn(4), close=True),
    *rows("logaddexp", torch.logaddexp, randn(3, 4), randn(4), close=True),
    *rows("logaddexp2", torch.logaddexp2, randn(3, 4), randn(4), close=True),
    *rows("xlogy", torch.xlogy, randn(3, 4), uniform(4), close=True),
    *rows("polar", torch.polar, uniform(3, 4), randn(3, 4), close=True),
    *rows("lerp-tensor", torch.lerp, randn(3, 4), randn(3, 4), uniform(3, 4), close=True),
    *rows("lerp_", lambda a, b: a.lerp_(b, 0.3), randn(3, 4), randn(3, 4), layouts=LAYOUTS, close=True),
    *rows("lerp_-tensor", lambda a, b, w: a.lerp_(b, w), randn(3, 4), randn(3, 4), uniform(3, 4), close=True),
    *rows("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), randn(3, 4), randn(4), randn(3, 1), dtypes=FLOATS, close=True),
    *rows("addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=0.5), randn(3, 4), randn(4), uniform(3, 1, low=0.5), dtypes=FLOATS, close=True),
    *rows("addcmul_", lambda a, b, c: a.addcmul_(b, c, value=0.5), randn(3, 4), randn(4), randn(3, 1), close=True),
    *rows("addcdiv_", lambda a, b, c: a.addcdiv_(b, c, value=0.5), randn(3, 4), randn(4), uniform(3, 1, low=0.5), close=True),
]

GRADIENTS = [
    *[c for n in ("exp", "log", "sqrt", "sin", "tanh", "sigmoid", "rsqrt", "reciprocal", "log1p", "erf") for c in rows(n, getattr(torch, n), uniform(3, 4, low=0.1), backward=True, close=True)],
    *rows("arithmetic", lambda a, b: (a * b - a / b) ** 2 + b**3, randn(3, 4), uniform(4, low=0.5), dtypes=(torch.float32, torch.float64), backward=True, close=True),
    *rows("clamp", lambda a: a.clamp(-0.5, 0.5), randn(3, 4), backward=True),
    *rows("abs", torch.abs, randn(3, 4), backward=True),
    *rows("where", lambda a, b: torch.where(a > b, a, b), randn(3, 4), randn(4), backward=True),
]  # fmt: skip


@table(UNARY_CASES)
def test_unary(case):
    case.check()


@table(BINARY_CASES)
def test_binary(case):
    case.check()


@table(GRADIENTS)
def test_gradients(case):
    case.check()


def test_a_number_that_does_not_fit_the_dtype_is_refused():
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(2, dtype=torch.int64, device=DEVICE).mul_(1.5)
        torch.npu.synchronize()
