"""Unsigned integers of 16 bits and more, of which ATen has few kernels: what moves them keeps their bits."""

import pytest
import torch

from cases import DEVICE
from direct import call, refusal, scalar

WIDTHS = {torch.uint16: 16, torch.uint32: 32, torch.uint64: 64}


@pytest.fixture(params=WIDTHS, ids=str)
def values(request):
    """Return a matrix of numbers up to the type's largest."""
    largest = 2 ** WIDTHS[request.param] - 1
    return torch.tensor([[1, 2, 3], [4, largest // 2 + 1, largest]], dtype=request.param)


def computed(name: str, sizes: tuple[int, ...], *arguments: object, dtype: torch.dtype) -> list:
    out = torch.zeros(sizes, dtype=dtype).to(DEVICE)
    call(name, *arguments, out)
    return out.cpu().tolist()


@pytest.mark.parametrize("is_strided", [False, True])
def test_a_triangle_keeps_its_bits(values, is_strided):
    (a, b, _), (d, e, f) = values.tolist()
    x = values.t().contiguous().to(DEVICE).t() if is_strided else values.to(DEVICE)
    assert computed("aclnnTril", (2, 3), x, 0, dtype=values.dtype) == [[a, 0, 0], [d, e, 0]]
    assert computed("aclnnTril", (2, 3), x, 1, dtype=values.dtype) == [[a, b, 0], [d, e, f]]


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
    x = torch.tensor([1, 6, 65535], dtype=torch.uint16).to(DEVICE)
    assert computed("aclnnBitwiseAndScalar", (3,), x, scalar(5), dtype=torch.uint16) == [1, 4, 5]


@pytest.mark.parametrize("dtype", [torch.uint32, torch.uint64])
def test_numbers_equal_a_number(dtype):
    x = torch.tensor([0, 3, 2 ** WIDTHS[dtype] - 1], dtype=dtype).to(DEVICE)
    assert computed("aclnnEqScalar", (3,), x, scalar(3), dtype=torch.bool) == [False, True, False]


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32])
def test_numbers_with_the_upper_bit_are_not_below_others(dtype):
    x = torch.tensor([0, 3, 2 ** WIDTHS[dtype] - 1], dtype=dtype).to(DEVICE)
    assert computed("aclnnLtScalar", (3,), x, scalar(3), dtype=torch.bool) == [True, False, False]
    assert computed("aclnnLtScalar", (3,), x, scalar(0), dtype=torch.bool) == [False, False, False]


def test_what_has_no_order_is_refused():
    x, truth = torch.zeros(2, dtype=torch.complex64, device=DEVICE), torch.zeros(2, dtype=torch.bool, device=DEVICE)
    for code, message in (
        refusal("aclnnLtScalar", x, scalar(3), truth),
        refusal("aclnnClampMinTensor", x, x, x.clone()),
        refusal("aclnnClampMaxTensor", x, x, x.clone()),
        refusal("aclnnMultinomial", x, 1, False, 0, 0, truth[:1].long()),
    ):
        assert code == 161002 and "self: expected a data type of" in message and message.endswith("got COMPLEX64")
