"""comparison.cpp against definitions in float64."""

import operator

import pytest
import torch
from checks import DEVICE, FLOATS

from cases import LAYOUTS, booleans, in_turn, integers, randn, rows, table, values

NAMES = ("eq", "ne", "lt", "le", "gt", "ge")
NAN = float("nan")
DTYPES, STRIDED = (torch.int64, *FLOATS), LAYOUTS[:1]  # with integers some elements are equal
SMALL = integers(3, 4, high=3, dtype=None)
CASES = [
    *in_turn({n: getattr(operator, n) for n in NAMES}, randn(3, 4), randn(4), dtypes=DTYPES),
    *in_turn({f"{n}-number": lambda x, n=n: getattr(torch, n)(x, 1) for n in NAMES}, randn(3, 4), dtypes=DTYPES),
    *[
        c
        for n in NAMES
        for c in rows(f"{n}_", lambda x, y, n=n: getattr(x, f"{n}_")(y), SMALL, integers(4, high=3, dtype=None), layouts=STRIDED)
    ],
    *[c for n in NAMES for c in rows(f"{n}_-number", lambda x, n=n: getattr(x, f"{n}_")(1), SMALL)],
    *rows("mixed", lambda x, y: x < y, randn(3), randn(3, dtype=torch.int64)),
    *rows("nan", lambda x, y: (x == y, x != y, x < y, torch.maximum(x, y)), values([1.0, NAN, NAN]), values([1.0, 2.0, NAN])),
    *rows("maximum", torch.maximum, randn(3, 4), randn(4), dtypes=DTYPES, layouts=LAYOUTS),
    *rows("minimum", torch.minimum, randn(3, 4), randn(4), dtypes=DTYPES, layouts=LAYOUTS),
    *rows("isclose-nan", lambda *x: torch.isclose(*x, rtol=0.1, equal_nan=True), values([1.0, 2.0, NAN]), values([1.0, 2.1, NAN])),
    *rows("where", torch.where, booleans(3, 4), randn(4), randn(3, 1), dtypes=DTYPES, layouts=LAYOUTS),
    *rows("where-number", lambda *x: torch.where(*x, 0), booleans(3, 4), randn(3, 4), dtypes=FLOATS),
    *rows("isin-invert", lambda x: torch.isin(x, 3, invert=True), integers(3, 4)),
    *rows("isin-element", lambda x: torch.isin(3, x), integers(3, 4)),
]
test_torchs_functions = table(CASES)


def test_equal_compares_wholes():
    x = torch.arange(6.0, device=DEVICE)
    assert torch.equal(x, x.clone())
    assert not torch.equal(x, x + 1)
    assert not torch.equal(x, x.reshape(2, 3))
    assert torch.allclose(x, x + 1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_a_number_is_at_least_a_tensor(dtype):
    x = torch.tensor([1, 2, 3], dtype=dtype)
    assert torch.ge(torch.tensor(2, dtype=dtype), x.to(DEVICE)).cpu().tolist() == [True, True, False]


def test_unsigned_numbers_are_compared_with_a_number():
    x = torch.tensor([0, 2, 2**64 - 1], dtype=torch.uint64, device=DEVICE)
    assert [compare(x, 2).tolist() for compare in (torch.lt, torch.gt)] == [[True, False, False], [False, False, True]]
    assert torch.gt(x, -1).all() and torch.lt(x, 2.5).tolist() == [True, True, False]


def test_closeness_is_not_rounded_to_half_types():
    x, y = (torch.tensor([number], dtype=torch.bfloat16, device=DEVICE) for number in (258.0, 1.0))
    assert not torch.isclose(x, y, rtol=0, atol=256).item()
