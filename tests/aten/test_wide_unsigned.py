"""Unsigned integers of 16 bits and more, of which ATen has few kernels: what moves them keeps their bits."""

import math
import operator

import pytest
import torch

from cases import DEVICE
from direct import call, refusal, scalar

WIDTHS = {torch.uint16: 16, torch.uint32: 32, torch.uint64: 64}


@pytest.fixture(params=WIDTHS, ids=str)
def values(request):
    return matrix(request.param)


def matrix(dtype: torch.dtype) -> torch.Tensor:
    """Return numbers up to the type's largest."""
    largest = 2 ** WIDTHS[dtype] - 1
    return torch.tensor([[1, 2, 3], [4, largest // 2 + 1, largest]], dtype=dtype)


def computed(name: str, sizes: tuple[int, ...], *arguments: object, dtype: torch.dtype) -> list:
    out = torch.zeros(sizes, dtype=dtype).to(DEVICE)
    call(name, *arguments, out)
    return out.cpu().tolist()


def in_place(name: str, values: torch.Tensor, *arguments: object) -> list:
    there = values.to(DEVICE, copy=True)
    call(name, there, *arguments)
    return there.cpu().tolist()


@pytest.mark.parametrize("is_strided", [False, True])
def test_a_triangle_keeps_its_bits(values, is_strided):
    (a, b, _), (d, e, f) = values.tolist()
    x = values.t().contiguous().to(DEVICE).t() if is_strided else values.to(DEVICE)
    assert computed("aclnnTril", (2, 3), x, 0, dtype=values.dtype) == [[a, 0, 0], [d, e, 0]]
    assert computed("aclnnTril", (2, 3), x, 1, dtype=values.dtype) == [[a, b, 0], [d, e, f]]
    assert computed("aclnnTriu", (2, 3), x, 0, dtype=values.dtype) == [values.tolist()[0], [0, e, f]]
    assert in_place("aclnnInplaceTril", values, 0) == [[a, 0, 0], [d, e, 0]]
    assert in_place("aclnnInplaceTriu", values, 0) == [values.tolist()[0], [0, e, f]]


def test_elements_are_moved_with_their_bits(values):
    (a, b, c), (d, e, f) = values.tolist()
    x, condition = values.to(DEVICE), torch.tensor([True, False, True]).to(DEVICE)
    assert computed("aclnnPermute", (3, 2), x, [1, 0], dtype=values.dtype) == [[a, d], [b, e], [c, f]]
    assert computed("aclnnRepeat", (2, 6), x, [1, 2], dtype=values.dtype) == [[a, b, c] * 2, [d, e, f] * 2]
    assert computed("aclnnSWhere", (2, 3), condition, x, values[[1, 0]].to(DEVICE), dtype=values.dtype) == [[a, e, c], [d, b, f]]
    if values.dtype == torch.uint32:
        assert computed("aclnnRoll", (2, 3), x, [1], [1], dtype=values.dtype) == [[c, a, b], [f, d, e]]
    if values.dtype == torch.uint16:
        assert in_place("aclnnInplaceZero", values) == [[0, 0, 0], [0, 0, 0]]


def test_what_is_not_zero_and_rows_that_are_different_are_found(values):
    values[0, 0] = 0
    assert computed("aclnnNonzeroV2", (2, 5), values.to(DEVICE), dtype=torch.int64) == [[0, 0, 1, 1, 1], [1, 2, 0, 1, 2]]
    rows, twice = values.tolist(), torch.cat([values, values])
    out, inverse, counts = (t.to(DEVICE) for t in (twice.clone(), *torch.zeros(2, 4, dtype=torch.int64)))
    call("aclnnUniqueDim", twice.to(DEVICE), True, True, 0, out, inverse, counts)
    assert out.cpu().tolist()[:2] == rows and inverse.cpu().tolist() == [0, 1, 0, 1] and counts.cpu().tolist()[:2] == [2, 2]


def test_elements_are_taken_with_their_bits(values):
    index = torch.tensor([5, 0, 4]).to(DEVICE)
    numbers = values.flatten().tolist()
    assert computed("aclnnTake", (3,), values.to(DEVICE), index, dtype=values.dtype) == [numbers[5], numbers[0], numbers[4]]


def test_a_constant_is_put_around(values):
    found = computed("aclnnConstantPadNd", (2, 5), values.to(DEVICE), [1, 1], scalar(7), dtype=values.dtype)
    assert found == [[7, *row, 7] for row in values.tolist()]


@pytest.mark.parametrize(("name", "function"), [("And", int.__and__), ("Or", int.__or__)])
def test_bits_are_combined(values, name, function):
    other = torch.tensor([6, 5, 3], dtype=values.dtype)
    expected = [[function(a, b) for a, b in zip(row, other.tolist(), strict=True)] for row in values.tolist()]
    found = computed(f"aclnnBitwise{name}Tensor", (2, 3), values.to(DEVICE), other.to(DEVICE), dtype=values.dtype)
    assert found == expected


def test_bits_are_combined_with_a_number():
    x = torch.tensor([1, 6, 65535], dtype=torch.uint16)
    assert computed("aclnnBitwiseAndScalar", (3,), x.to(DEVICE), scalar(5), dtype=torch.uint16) == [1, 4, 5]
    assert computed("aclnnBitwiseOrScalar", (3,), x.to(DEVICE), scalar(8), dtype=torch.uint16) == [9, 14, 65535]
    assert in_place("aclnnInplaceBitwiseAndScalar", x, scalar(5)) == [1, 4, 5]
    assert in_place("aclnnInplaceBitwiseAndTensor", x, x.clone().fill_(5).to(DEVICE)) == [1, 4, 5]


@pytest.mark.parametrize(("name", "base"), [("", math.e), ("2", 2)])
def test_exponentials_are_added_in_the_results_type(name, base):
    for dtype in (*WIDTHS, torch.int32):
        x, y = torch.tensor([0, 3, 9], dtype=dtype), torch.tensor([0, 1, 9], dtype=dtype)
        exact = [math.log(base**a + base**b, base) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        found = computed(f"aclnnLogAddExp{name}", (3,), x.to(DEVICE), y.to(DEVICE), dtype=torch.float32)
        assert found == pytest.approx(exact, rel=1e-6)


ORDERS = {"Lt": operator.lt, "Le": operator.le, "Gt": operator.gt, "Ge": operator.ge}
ORDERED = [(name, dtype) for name in ORDERS for dtype in WIDTHS if name != "Le" or dtype == torch.uint16]


@pytest.mark.parametrize(("name", "dtype"), ORDERED)
def test_the_upper_bit_is_not_a_sign(name, dtype):
    values = matrix(dtype)
    other = values[:, [2, 1, 0]]
    expected = [[ORDERS[name](a, b) for a, b in zip(*rows, strict=True)] for rows in zip(values.tolist(), other.tolist(), strict=True)]
    assert computed(f"aclnn{name}Tensor", (2, 3), values.to(DEVICE), other.to(DEVICE), dtype=torch.bool) == expected
    if name == "Ge":
        assert in_place("aclnnInplaceGeTensor", values, other.to(DEVICE)) == expected


@pytest.mark.parametrize("dtype", [torch.uint32, torch.uint64])
def test_numbers_equal_a_number(dtype):
    x = torch.tensor([0, 3, 2 ** WIDTHS[dtype] - 1], dtype=dtype).to(DEVICE)
    assert computed("aclnnEqScalar", (3,), x, scalar(3), dtype=torch.bool) == [False, True, False]


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in ORDERED if pair[1] != torch.uint64])
def test_numbers_with_the_upper_bit_are_not_below_others(name, dtype):
    numbers = [0, 3, 2 ** WIDTHS[dtype] - 1]
    for number in (0, 3):
        found = computed(f"aclnn{name}Scalar", (3,), torch.tensor(numbers, dtype=dtype).to(DEVICE), scalar(number), dtype=torch.bool)
        assert found == [ORDERS[name](each, number) for each in numbers]


def test_what_has_no_order_is_refused():
    x, truth = torch.zeros(2, dtype=torch.complex64, device=DEVICE), torch.zeros(2, dtype=torch.bool, device=DEVICE)
    for code, message in (
        refusal("aclnnLtScalar", x, scalar(3), truth),
        refusal("aclnnClampMinTensor", x, x, x.clone()),
        refusal("aclnnClampMaxTensor", x, x, x.clone()),
        refusal("aclnnMultinomial", x, 1, False, 0, 0, truth[:1].long()),
    ):
        assert code == 161002 and "self: expected a data type of" in message and "got COMPLEX64" in message
