"""binary.cpp: integers in place, divisors of zero, and data types that torch_npu's list of APIs has beside the pages."""

import pytest
import torch

from cases import DEVICE
from support.marks import beyond_the_documents, refused_at_once

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@beyond_the_documents
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_in_place_lose_the_fraction(dtype):
    """As torch_npu divides for ReduceOp.AVG."""
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
        (torch.floor_divide, torch.tensor([[1, 2], [0, 4]]), "[1, 0]"),
        (torch.remainder, torch.tensor([[1, 2], [3, 0]]), "[1, 1]"),
        (torch.fmod, torch.tensor([[0, 2], [0, 4]]), "[0, 0]"),
    ],
)
def test_integers_divided_by_zero_name_the_divisor(function, divisor, place):
    with pytest.raises(RuntimeError) as error:
        function(torch.ones(2, 2, dtype=torch.int64, device=DEVICE), divisor.to(DEVICE))
        torch.npu.synchronize()
    assert f"other: expected values other than 0, got 0 at position {place}" in str(error.value)


def test_a_number_may_be_the_divisor_that_is_zero():
    with pytest.raises(RuntimeError, match="other: expected values other than 0, got 0"):
        torch.ones(2, dtype=torch.int64, device=DEVICE) // 0
        torch.npu.synchronize()


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
