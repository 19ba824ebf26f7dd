"""counting.cpp against definitions in float64."""

from fractions import Fraction

import pytest
import torch
from checks import DEVICE

from cases import integers, randn, rows, table
from direct import call, fraction, scalar

CASES = [
    *rows("bincount-length", lambda x: torch.bincount(x, minlength=9), integers(20, high=6)),
    *rows("bincount-weights", torch.bincount, integers(20, high=6), randn(20), close=True),
    *rows("histc", lambda x: torch.histc(x, 5, -2, 2), randn(50)),
    *rows("histc-range", lambda x: torch.histc(x, 4), randn(50)),
]


def histogram(values, bins, low, high):
    """The definition: bins of one width, the last one with its end."""
    counts = [0] * bins
    for value in values:
        if low <= value <= high:
            counts[min(int((value - low) * bins // (Fraction(high) - Fraction(low))), bins - 1)] += 1
    return counts


WHOLE = [torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8]
test_torchs_functions = table(CASES)


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize(("bins", "low", "high"), [(10, 0, 49), (7, 0, 7), (8, 0, 7), (100, 3, 3 + 49), (3, 10, 20)])
def test_histogram_of_whole_numbers(dtype, bins, low, high):
    x = torch.arange(60).repeat(2)[:101].reshape(1, 101).to(dtype)
    result = torch.histc(x.to(DEVICE), bins, low, high)
    assert result.dtype == dtype and result.tolist() == histogram(x.flatten().tolist(), bins, low, high)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_histogram_between_the_extremes(dtype):
    x = torch.tensor([-5, 2, 2, 3, 11, 40], dtype=dtype)
    assert torch.histc(x.to(DEVICE), 9).tolist() == histogram(x.tolist(), 9, -5, 40)
    assert torch.histc(torch.full((4,), 3, dtype=dtype).to(DEVICE), 4).tolist() == [0, 0, 4, 0]
    assert torch.histc(torch.empty(0, dtype=dtype).to(DEVICE), 4).tolist() == [0, 0, 0, 0]


def test_fractional_bounds():
    x = torch.arange(10, dtype=torch.int32)
    assert torch.histc(x.to(DEVICE), 4, 0.5, 8.5).tolist() == histogram(x.tolist(), 4, Fraction(1, 2), Fraction(17, 2))


def test_large_numbers_are_told_apart():
    first = 2**62
    x = torch.tensor([first, first + 2**20 - 1, first + 2**20, first + 2**21], dtype=torch.int64)
    out = torch.zeros(2, dtype=torch.int64, device=DEVICE)
    call("aclnnHistc", x, 2, scalar(first), scalar(first + 2**21), out)
    assert out.tolist() == [2, 2] == histogram(x.tolist(), 2, first, first + 2**21)


@pytest.mark.parametrize("number", [2**62, 2**63 - 1, -(2**63)])
def test_one_large_number_is_in_the_middle(number):
    out = torch.zeros(3, dtype=torch.int64, device=DEVICE)
    call("aclnnHistc", torch.full((4,), number), 3, fraction(0.0), fraction(0.0), out)
    assert out.tolist() == [0, 4, 0]


def test_the_widest_range():
    assert torch.histc(torch.tensor([-7, 0, 2**62]).to(DEVICE), 4, -1e308, 1e308).tolist() == [0, 0, 3, 0]
