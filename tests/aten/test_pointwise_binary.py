"""pointwise_binary.cpp: arithmetic on two or three tensors or numbers, element by element."""

import pytest
import torch

from cases import DEVICE, FLOATS, HALVES, LAYOUTS, booleans, in_turn, integers, randn, rows, table, uniform
from support.marks import refused_at_once

INTEGERS = (torch.int64, torch.int32)
PAIR = (randn(3, 4), uniform(4, low=0.5, high=2))

CASES = [
    *in_turn(
        {
            "add": lambda a, b: a + b,
            "add-alpha": lambda a, b: torch.add(a, b, alpha=2),
            "sub": lambda a, b: a - b,
            "sub-alpha": lambda a, b: torch.sub(a, b, alpha=0.5),
            "rsub": torch.rsub,
            "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b,
            "div-trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
            "div-floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
            "floor_divide": lambda a, b: a // b,
            "fmod": torch.fmod,
            "remainder": lambda a, b: a % b,
            "atan2": torch.atan2,
            "lerp": lambda a, b: torch.lerp(a, b, 0.3),
            "add_": lambda a, b: a.add_(b),
            "sub_": lambda a, b: a.sub_(b, alpha=2),
            "mul_": lambda a, b: a.mul_(b),
            "div_": lambda a, b: a.div_(b),
            "div_-trunc": lambda a, b: a.div_(b, rounding_mode="trunc"),
            "floor_divide_": lambda a, b: a.floor_divide_(b),
            "fmod_": lambda a, b: a.fmod_(b),
            "remainder_": lambda a, b: a.remainder_(b),
            "atan2_": lambda a, b: a.atan2_(b),
            "pow_": lambda a, b: a.abs_().pow_(b),
        },
        *PAIR,
        dtypes=FLOATS,
        close=True,
    ),
    *in_turn(
        {
            "add-number": lambda a: a + 1.3,
            "radd": lambda a: 1.3 + a,
            "sub-number": lambda a: a - 1.3,
            "rsub-number": lambda a: 1.3 - a,
            "add_-number": lambda a: a.add_(1.3),
            "sub_-number": lambda a: a.sub_(1.3),
        },
        randn(3, 4),
        dtypes=FLOATS,
        close=True,
        rounded_once=True,
    ),
    *in_turn(
        {
            "add-integer": lambda a: a + 1,
            "mul-number": lambda a: a * 1.3,
            "div-number": lambda a: a / 1.3,
            "rdiv": lambda a: 1.3 / (a.abs() + 1),
            "div-number-floor": lambda a: torch.div(a, 0.3, rounding_mode="floor"),
            "floor_divide-number": lambda a: a // 0.3,
            "fmod-number": lambda a: torch.fmod(a, 0.7),
            "remainder-number": lambda a: a % 0.7,
            "rremainder": lambda a: 2 % (a.abs() + 1),
            "pow-2": lambda a: a**2,
            "pow-3": lambda a: a**3,
            "pow-half": lambda a: a.abs() ** 0.5,
            "pow--1": lambda a: (a.abs() + 1) ** -1,
            "rpow": lambda a: 2**a,
            "mul_-number": lambda a: a.mul_(1.3),
            "div_-number": lambda a: a.div_(1.3),
            "div_-number-trunc": lambda a: a.div_(0.3, rounding_mode="trunc"),
            "pow_-2": lambda a: a.pow_(2),
            "fmod_-number": lambda a: a.fmod_(0.7),
            "remainder_-number": lambda a: a.remainder_(0.7),
            "floor_divide_-number": lambda a: a.floor_divide_(0.3),
            "xlogy-number": lambda a: torch.xlogy(a, 2.0),
            "xlogy-rnumber": lambda a: torch.xlogy(2.0, a.abs() + 1),
            "xlogy_-number": lambda a: a.xlogy_(2.0),
        },
        randn(3, 4),
        dtypes=FLOATS,
        close=True,
    ),
    *in_turn(
        {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b,
            "div-trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
            "floor_divide": lambda a, b: a // b,
            "remainder": lambda a, b: a % b,
            "fmod": torch.fmod,
            "gcd": torch.gcd,
            "pow": lambda a, b: a**b,
            "and": lambda a, b: a & b,
            "or": lambda a, b: a | b,
            "xor": lambda a, b: a ^ b,
            "and_": lambda a, b: a.bitwise_and_(b),
            "xor_": lambda a, b: a.bitwise_xor_(b),
        },
        randn(3, 4),
        integers(4, low=1, high=6, dtype=None),
        dtypes=INTEGERS,
    ),
    *in_turn(
        {
            "and-number": lambda a: a & 6,
            "or-number": lambda a: a | 6,
            "xor-number": lambda a: a ^ 6,
            "and_-number": lambda a: a.bitwise_and_(6),
            "xor_-number": lambda a: a.bitwise_xor_(6),
        },
        randn(3, 4),
        dtypes=INTEGERS,
    ),
    *rows("shift", lambda a, b: (a << b, a >> b), integers(9, dtype=None), integers(9, high=5, dtype=None), dtypes=INTEGERS),
    *rows("shift-number", lambda a: (a << 2, a >> 1, torch.bitwise_left_shift(a, 3)), integers(9, dtype=None), dtypes=INTEGERS),
    *rows("add_relu", torch.ops.aten._add_relu, randn(3, 4), randn(3, 4), dtypes=FLOATS[:1]),
    *rows("add_relu_", torch.ops.aten._add_relu_, randn(3, 4), randn(3, 4), dtypes=FLOATS[:1]),
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
    *rows(
        "promotion-cpu-left",
        lambda a: (torch.tensor(1.5) + a, torch.tensor(1.5) - a, torch.tensor(2.5) * a, torch.tensor(2.5) / a),
        randn(3),
    ),
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
    *rows(
        "addcdiv",
        lambda a, b, c: torch.addcdiv(a, b, c, value=0.5),
        randn(3, 4),
        randn(4),
        uniform(3, 1, low=0.5),
        dtypes=FLOATS,
        close=True,
    ),
    *rows("addcmul_", lambda a, b, c: a.addcmul_(b, c, value=0.5), randn(3, 4), randn(4), randn(3, 1), close=True),
    *rows("addcdiv_", lambda a, b, c: a.addcdiv_(b, c, value=0.5), randn(3, 4), randn(4), uniform(3, 1, low=0.5), close=True),
]

GRADIENTS = [
    *rows(
        "arithmetic",
        lambda a, b: (a * b - a / b) ** 2 + b**3,
        randn(3, 4),
        uniform(4, low=0.5),
        dtypes=(torch.float32, torch.float64),
        backward=True,
        close=True,
    ),
    *rows("where", lambda a, b: torch.where(a > b, a, b), randn(3, 4), randn(4), backward=True),
]


@table(CASES)
def test_binary(case):
    case.check()


@table(GRADIENTS)
def test_gradients(case):
    case.check()


@refused_at_once
def test_a_number_that_does_not_fit_the_dtype_is_refused():
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(2, dtype=torch.int64, device=DEVICE).mul_(1.5)
        torch.npu.synchronize()


@pytest.mark.parametrize(("dtype", "count"), [(HALVES[0], 7), (HALVES[1], 100)])  # ATen's loops end with elements of their own
@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: torch.add(a, b, alpha=5.3),
        lambda a, b: torch.sub(a, b, alpha=5.3),
        lambda a, b: torch.rsub(a, b, alpha=5.3),
        lambda a, b: a.clone().add_(b, alpha=-0.7),
        lambda a, b: torch.lerp(a, b, 0.3),
        lambda a, b: torch._foreach_add([a], [b], alpha=5.3)[0],
        lambda a, b: torch._foreach_sub([a], [b], alpha=5.3)[0],
        lambda a, b: torch._foreach_lerp([a], [b], 0.3)[0],
    ],
)
def test_products_within_sums_of_halves_are_not_rounded(function, dtype, count):
    a, b = torch.randn(50, count).to(dtype), torch.randn(50, count).to(dtype)
    exact = function(a.double(), b.double())
    for row in range(50):  # each a tensor of its own
        found = function(a[row].npu(), b[row].npu()).cpu()
        torch.testing.assert_close(found.double(), exact[row], rtol=torch.finfo(dtype).eps / 1.99, atol=1e-6)
