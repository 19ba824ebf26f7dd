"""binary.cpp: arithmetic on two or three tensors or numbers, element by element."""

import pytest
import torch
from checks import DEVICE, FLOATS, HALVES, check

from cases import LAYOUTS, booleans, in_turn, integers, randn, rows, table, uniform, written
from direct import call, fraction, scalar
from support.marks import beyond_the_documents, refused_at_once

INTEGERS = torch.int64, torch.int32
PAIR, TRIPLE = (randn(3, 4), uniform(4, low=0.5, high=2)), (randn(3, 4), randn(4), uniform(3, 1, low=0.5))
HERE = torch.tensor(2.5)
OF_FLOATS = {"dtypes": FLOATS, "close": True}
OF_TENSORS = """a + b; torch.add(a, b, alpha=2); a - b; torch.sub(a, b, alpha=0.5); torch.rsub(a, b); a * b; a / b; a // b; a % b;
    torch.div(a, b, rounding_mode="trunc"); torch.div(a, b, rounding_mode="floor"); torch.fmod(a, b); torch.atan2(a, b);
    torch.lerp(a, b, 0.3); a.add_(b); a.sub_(b, alpha=2); a.mul_(b); a.div_(b); a.div_(b, rounding_mode="trunc"); a.floor_divide_(b);
    a.fmod_(b); a.remainder_(b); a.atan2_(b); a.abs_().pow_(b)"""
SUMS_WITH_NUMBERS = "a + 1.3; 1.3 + a; a - 1.3; 1.3 - a; a.add_(1.3); a.sub_(1.3)"
OF_NUMBERS = """a + 1; a * 1.3; a / 1.3; 1.3 / (a.abs() + 1); torch.div(a, 0.3, rounding_mode="floor"); a // 0.3; torch.fmod(a, 0.7);
    a % 0.7; 2 % (a.abs() + 1); a**2; a**3; a.abs() ** 0.5; (a.abs() + 1) ** -1; 2**a; a.mul_(1.3); a.div_(1.3);
    a.div_(0.3, rounding_mode="trunc"); a.pow_(2); a.fmod_(0.7); a.remainder_(0.7); a.floor_divide_(0.3); torch.xlogy(a, 2.0);
    torch.xlogy(2.0, a.abs() + 1); a.xlogy_(2.0)"""
OF_INTEGERS = """a + b; a - b; a * b; a / b; torch.div(a, b, rounding_mode="trunc"); a // b; a % b; torch.fmod(a, b); torch.gcd(a, b);
    a**b; a & b; a | b; a ^ b; a.bitwise_and_(b); a.bitwise_xor_(b)"""
WITH_SIX = "a & 6; a | 6; a ^ 6; a.bitwise_and_(6); a.bitwise_xor_(6)"
CASES = [
    *in_turn(written("a, b", OF_TENSORS), *PAIR, **OF_FLOATS),
    *in_turn(written("a", SUMS_WITH_NUMBERS), randn(3, 4), **OF_FLOATS, rounded_once=True),
    *in_turn(written("a", OF_NUMBERS), randn(3, 4), **OF_FLOATS),
    *in_turn(written("a, b", OF_INTEGERS), randn(3, 4), integers(4, low=1, high=6, dtype=None), dtypes=INTEGERS),
    *in_turn(written("a", WITH_SIX), randn(3, 4), dtypes=INTEGERS),
    *rows("shift", lambda a, b: (a << b, a >> b), integers(9, dtype=None), integers(9, high=5, dtype=None), dtypes=INTEGERS),
    *rows("shift-number", lambda a: (a << 2, a >> 1, torch.bitwise_left_shift(a, 3)), integers(9, dtype=None), dtypes=INTEGERS),
    *rows("add_relu", torch.ops.aten._add_relu, randn(3, 4), randn(3, 4), dtypes=FLOATS[:1]),
    *rows("add_relu_", torch.ops.aten._add_relu_, randn(3, 4), randn(3, 4), dtypes=FLOATS[:1]),
    *rows("bool-add", lambda a: a + 1, booleans(7)),
    *rows("bool-mul", lambda a, b: a * b, booleans(7), randn(7)),
    *[
        c
        for n in ("logical_and", "logical_or", "logical_xor", "logical_and_", "logical_or_")
        for c in rows(n, getattr(torch.Tensor, n), randn(9, dtype=torch.int64), booleans(9))
    ],
    *rows("promotion", lambda a, b: (a + b, a * b, a - b, a / b), randn(3), randn(3, dtype=torch.int64)),
    *rows("promotion-cpu-left", lambda a: (HERE + a, HERE - a, HERE * a, HERE / a), randn(3)),
    *rows("integer-and-number", lambda a: (a + 1.5, a * 2, a / 2, a - 1), randn(3, dtype=torch.int64)),
    *rows("in-place-cast", lambda a, b: a.add_(b), randn(3, dtype=torch.float16), randn(3)),
    *rows("pow", lambda a, b: a.abs() ** b, randn(3, 4), randn(4), close=True),
    *rows("logaddexp", torch.logaddexp, randn(3, 4), randn(4), close=True),
    *rows("logaddexp2", torch.logaddexp2, randn(3, 4), randn(4), close=True),
    *rows("xlogy", torch.xlogy, randn(3, 4), uniform(4), close=True),
    *rows("polar", torch.polar, uniform(3, 4), randn(3, 4), close=True),
    *rows("lerp-tensor", torch.lerp, randn(3, 4), randn(3, 4), uniform(3, 4), close=True),
    *rows("lerp_", lambda a, b: a.lerp_(b, 0.3), randn(3, 4), randn(3, 4), layouts=LAYOUTS, close=True),
    *rows("lerp_-tensor", lambda a, b, w: a.lerp_(b, w), randn(3, 4), randn(3, 4), uniform(3, 4), close=True),
    *rows("addcmul", lambda *x: torch.addcmul(*x, value=0.5), randn(3, 4), randn(4), randn(3, 1), dtypes=FLOATS, close=True),
    *rows("addcdiv", lambda *x: torch.addcdiv(*x, value=0.5), *TRIPLE, dtypes=FLOATS, close=True),
    *rows("number-plus", lambda x: torch.add(torch.tensor(1.5), x, alpha=2), randn(3, 4), dtypes=FLOATS, close=True, rounded_once=True),
]
test_torchs_functions = table(CASES)


@pytest.mark.parametrize("name", ["AndTensor", "AndTensorOut", "AndScalar", "OrTensor", "OrScalar"])
def test_bits(name):
    x, y = torch.arange(-50, 50).view(25, 4), torch.tensor([6, -5, 3, 2]) if "Tensor" in name else torch.tensor(6)
    expected, there, given = x & y if "And" in name else x | y, x.to(DEVICE), y if y.dim() else scalar(6)
    check(f"aclnnBitwise{name}", (x, given), expected)
    call(f"aclnnInplaceBitwise{name}", there, given)
    assert there.cpu().equal(expected)


@pytest.mark.parametrize(("dtype", "count"), [(HALVES[0], 7), (HALVES[1], 100)])  # counts that are no multiple of a vector of ATen's
@pytest.mark.parametrize("function", [
    lambda *x: torch.add(*x, alpha=5.3),
    lambda *x: torch.sub(*x, alpha=5.3),
    lambda *x: torch.rsub(*x, alpha=5.3),
    lambda a, b: a.clone().add_(b, alpha=-0.7),
    lambda *x: torch.lerp(*x, 0.3),
    lambda a, b: torch._foreach_add([a], [b], alpha=5.3)[0],
    lambda a, b: torch._foreach_sub([a], [b], alpha=5.3)[0],
    lambda a, b: torch._foreach_lerp([a], [b], 0.3)[0],
])  # fmt: skip
def test_products_within_sums_of_halves_are_not_rounded(function, dtype, count):
    a, b = torch.randn(50, count).to(dtype), torch.randn(50, count).to(dtype)
    exact = function(a.double(), b.double())
    for row in range(50):  # each row is a tensor of its own
        found = function(a[row].npu(), b[row].npu()).cpu()
        torch.testing.assert_close(found.double(), exact[row], rtol=torch.finfo(dtype).eps / 1.99, atol=1e-6)


@beyond_the_documents
@pytest.mark.parametrize("dtype", (torch.uint8, torch.int8, torch.int16, *INTEGERS), ids=str)
def test_integers_in_place_lose_the_fraction(dtype):
    """torch_npu divides so for ReduceOp.AVG."""
    values = torch.tensor([4, 5, 7] if dtype == torch.uint8 else [4, 5, -5], dtype=dtype)
    assert values.to(DEVICE).div_(2).cpu().equal(values.div(2, rounding_mode="trunc"))
    assert values.to(DEVICE).mul_(0.5).cpu().equal(values.mul(0.5).to(dtype))


@refused_at_once
def test_booleans_in_place_stay_refused():
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Bool"):
        torch.ones(2, dtype=torch.bool, device=DEVICE).mul_(0.5)


@pytest.mark.parametrize(
    ("function", "divisor", "place"),
    [
        (torch.floor_divide, torch.tensor([[1, 2], [0, 4]]), " at position [1, 0]"),
        (torch.remainder, torch.tensor([[1, 2], [3, 0]]), " at position [1, 1]"),
        (torch.fmod, torch.tensor([[0, 2], [0, 4]]), " at position [0, 0]"),
        (lambda x, _: x // 0, torch.tensor(0), ""),
    ],
)
def test_integers_divided_by_zero_name_the_divisor(function, divisor, place):
    with pytest.raises(RuntimeError) as error:
        function(torch.ones(2, 2, dtype=torch.int64, device=DEVICE), divisor.to(DEVICE))
        torch.npu.synchronize()
    assert f"other: expected values other than 0, got 0{place}" in str(error.value)


def test_two_to_the_power_of_booleans():
    flags = torch.tensor([False, True])
    assert torch.ldexp(flags.to(DEVICE), flags.to(DEVICE)).cpu().equal(torch.ldexp(flags, flags))


@refused_at_once
@pytest.mark.parametrize(
    ("function", "dtype"),
    [(torch.div, torch.complex64), (torch.remainder, torch.int8), (torch.remainder, torch.uint8), (torch.gcd, torch.int16)],
)
def test_types_that_hardware_refuses(function, dtype):
    x = torch.ones(2, dtype=dtype).to(DEVICE)
    with pytest.raises(RuntimeError, match="not implemented for DT_"):
        function(x, x)


@pytest.mark.parametrize("ends", [(torch.float32, torch.float16), (torch.float16, torch.float32), (torch.float32, torch.float32)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_ends_of_an_interpolation_may_have_two_types(ends, dtype):
    start, end, out = (torch.full((2, 2), value, dtype=each) for value, each in zip((1.0, 3.0, 0.0), (*ends, dtype), strict=True))
    start, end, out = start.to(DEVICE), end.to(DEVICE), out.to(DEVICE)
    call("aclnnLerps", start, end, fraction(0.25), out)
    assert (out.cpu() == 1.5).all()
