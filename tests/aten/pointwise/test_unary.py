"""unary.cpp: functions of one tensor, element by element."""

import math

import pytest
import torch
from checks import DEVICE, FLOATS, HALVES, check, drawn

from cases import LAYOUTS, randn, rows, table, uniform, values
from direct import call
from support.marks import refused_at_once

INTEGERS = (torch.int64, torch.int32)
# The functions, with the interval on which they are defined.
UNARY = {
    (-4, 4): "abs neg sign ceil floor round trunc frac exp exp2 expm1 sin cos atan asinh sigmoid sinc",
    (0, 9): "sqrt",
    (0.1, 9): "rsqrt reciprocal log log2 log10",
    (-0.9, 9): "log1p",
    (-1.4, 1.4): "tan",
    (-3, 3): "sinh cosh tanh erf erfc",
    (-1, 1): "asin acos",
    (1, 9): "acosh",
    (-0.9, 0.9): "atanh erfinv",
}
INTERVALS = [(name, *interval) for interval, names in UNARY.items() for name in names.split()]
INF = float("inf")
UNUSUAL = [1.0, -0.0, INF, float("nan"), -INF]
ALL = {"dtypes": FLOATS, "layouts": LAYOUTS, "close": True, "upcast": True}
# A vectorised kernel may round its tail and its body differently, and strides decide which is which: hence close.
# Two macros make them all, so that they take half types and layouts in turn.
CASES = [
    *[
        c
        for i, (n, low, high) in enumerate(INTERVALS)
        for c in (
            *rows(
                n, getattr(torch, n), uniform(3, 37, low=low, high=high), dtypes=(torch.float32, HALVES[i % 2]), layouts=LAYOUTS, close=True
            ),
            *rows(f"{n}_", getattr(torch.Tensor, f"{n}_"), uniform(3, 5, low=low, high=high), layouts=LAYOUTS[i % 2 :][:1], close=True),
        )
    ],
    *rows("sgn-complex", torch.sgn, randn(3, 4), dtypes=(torch.complex64,), close=True),
    *rows("bitwise_not", torch.bitwise_not, randn(3, 4), dtypes=(*INTEGERS, torch.bool)),
    *rows("logical_not", torch.logical_not, randn(3, 4), dtypes=(torch.float32, torch.int64, torch.bool)),
    *rows("logical_not_", lambda x: x.logical_not_(), randn(3, 4), dtypes=(torch.float32, torch.bool)),
    *[
        c
        for n in ("signbit", "isfinite", "isinf", "isnan", "isposinf", "isneginf", "nan_to_num", "nan_to_num_")
        for c in rows(n, getattr(torch, n), values(UNUSUAL))
    ],
    *rows("nan_to_num-values", lambda x: torch.nan_to_num(x, 1.5, 2.5, -3.5), values(UNUSUAL)),
    *rows("round-decimals", lambda x: torch.round(x, decimals=2), randn(3, 4)),
    *rows("round_-decimals", lambda x: x.round_(decimals=1), randn(3, 4)),
    *rows("angle", torch.angle, randn(3, 4)),
    *rows("clamp", lambda x: x.clamp(-0.5, 0.5), randn(3, 4), dtypes=(*FLOATS, torch.float64), layouts=LAYOUTS),
    *rows("clamp-low", lambda x: x.clamp(min=-0.5), randn(3, 4)),
    *rows("clamp-high", lambda x: x.clamp(max=0.5), randn(3, 4)),
    *rows("clamp-tensor", lambda x, low, high: x.clamp(low, high), randn(3, 4), uniform(4, low=-1, high=0), uniform(3, 1)),
    *rows(
        "clamp-tensor-low",
        lambda x, low: (x.clamp(min=low), *(x.clamp(*b) for b in ((low > 0, low < 1), (low > 0,), (None, low > 0)))),
        randn(3, 4),
        randn(4),
    ),
    *[
        c
        for n in ("clamp_min", "clamp_max", "clamp_min_", "clamp_max_")
        for c in (
            *rows(n, lambda x, n=n: getattr(x, n)(0.1), randn(3, 4)),
            *rows(f"{n}-tensor", lambda x, y, n=n: getattr(x, n)(y), randn(3, 4), randn(4)),
        )
    ],
    *rows("logit", torch.logit, uniform(3, 4, low=0.05, high=0.95), **ALL, backward=True),
    *rows("logit-eps", lambda x: torch.logit(x, 0.1), uniform(3, 4, low=-0.2, high=1.2), **ALL, backward=True),
]
test_torchs_functions = table(CASES)


def test_functions_of_complex_and_infinite_numbers():
    x = torch.complex(drawn(3, 4), drawn(3, 4)).to(torch.complex64)
    check("aclnnReal", (x,), x.real, dtype=torch.float32)
    check("aclnnIsInf", (torch.tensor(UNUSUAL),), torch.tensor([False, False, True, False, True]))


@pytest.mark.parametrize(
    ("name", "expected"), [("Round", [-2, -2, 0, 2, 3]), ("Trunc", [-2, -1, 0, 1, 2]), ("Neg", [2.5, 1.5, -0.5, -1.5, -2.75])]
)
def test_in_place(name, expected):
    values = torch.tensor([-2.5, -1.5, 0.5, 1.5, 2.75], device=DEVICE)
    call(f"aclnnInplace{name}", values)
    assert values.tolist() == expected


@refused_at_once
@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (torch.ceil, torch.int32),
        (torch.Tensor.ceil_, torch.uint8),
        (torch.sign, torch.int16),
        (torch.isposinf, torch.float64),
        (torch.isneginf, torch.float64),
        (torch.tanh, torch.float64),
    ],
)
def test_types_that_hardware_refuses(function, dtype):
    with pytest.raises(RuntimeError, match="not implemented for DT_"):
        function(torch.ones(2, dtype=dtype).to(DEVICE))


def test_types_of_the_list_alone():
    x = torch.tensor([0.25, -1.0, math.nan], dtype=torch.float64)
    torch.testing.assert_close(torch.expm1(x.to(DEVICE)).cpu(), torch.expm1(x), equal_nan=True)
    for numbers in (x, torch.complex(x, -x)):
        expected = torch.nan_to_num(numbers, 2.0)
        assert torch.nan_to_num(numbers.to(DEVICE), 2.0).cpu().equal(expected)
        assert numbers.to(DEVICE).nan_to_num_(2.0).cpu().equal(expected)
        assert torch.where(numbers.to(DEVICE) != 0.25, 2.0, numbers.to(DEVICE)).cpu().equal(torch.where(numbers != 0.25, 2.0, numbers))
    assert (x > 0).to(DEVICE).abs().cpu().equal(x > 0)
