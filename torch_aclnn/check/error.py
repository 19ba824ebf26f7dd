"""Errors in units in the last place."""

import torch
from torch import Tensor

# Significant bits, and the exponent of the smallest number.
_FORMATS = {torch.float64: (53, -1074), torch.float32: (24, -149), torch.float16: (11, -24), torch.bfloat16: (8, -133)}
# The largest errors of the engine in these units. A result of a wide type is as exact as the sum that gives it: each of the few roundings
# costs up to one unit of what is summed.
LIMITS = {torch.float64: 8.0, torch.float32: 8.0, torch.float16: 1.0, torch.bfloat16: 1.0}

# The exponent for a magnitude of 0 is that of float32's smallest normal number, because a device may take what is smaller for 0.
_SMALLEST = 2.0**-126


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of the real and the imaginary part."""
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


def in_ulp(actual: Tensor, exact: Tensor, scale: Tensor, dtype: torch.dtype) -> float:
    """Return the largest error.

    Half types are computed in float32 and rounded once, so their unit is the result's own. In the wide types the roundings of a sum are
    as large as its terms, so their unit is that of `scale`, the sum of the terms' magnitudes. For a half result below a thousandth of
    `scale`, whose terms have cancelled, the unit is that of this thousandth.

    Args:
        actual: the result, in any dtype.
        exact: what it should be, in float64 or complex128.
        scale: the same sums with each term positive.
        dtype: the floating-point format.

    """
    if exact.is_complex():
        actual, exact, scale = (torch.view_as_real(t) for t in (actual.to(torch.complex128), exact, scale))
    bits, smallest = _FORMATS[dtype]
    is_half = dtype in (torch.float16, torch.bfloat16)
    magnitude = torch.maximum(exact.abs(), scale / 1024) if is_half else torch.maximum(exact.abs(), scale)
    exponent = torch.frexp(magnitude)[1].to(torch.float64) - bits
    unit = torch.exp2(torch.where(magnitude == 0, smallest, exponent).clamp(min=smallest))
    return _largest(actual, exact, unit)


def share(actual: Tensor, exact: Tensor, scale: Tensor) -> float:
    """Return the largest error as a part of what was summed; the arguments are those of :func:`in_ulp`."""
    if exact.is_complex():
        actual, exact, scale = (torch.view_as_real(t) for t in (actual.to(torch.complex128), exact, scale))
    return _largest(actual, exact, torch.maximum(exact.abs(), scale).clamp(min=_SMALLEST))


def share_of_largest(actual: Tensor, exact: Tensor) -> float:
    """Return the largest error as a part of the result's largest value."""
    return _largest(actual, exact, exact.abs().max().clamp(min=_SMALLEST))


def in_ulp_of_largest(actual: Tensor, exact: Tensor) -> float:
    """Return the largest error in units in the last place of the largest value, which is how a layer's results are judged as a whole.

    Args:
        actual: the result, in its dtype.
        exact: what it should be, in float64.

    """
    bits, smallest = _FORMATS[actual.dtype]
    largest = exact.abs().max()
    unit = torch.exp2((torch.frexp(largest)[1].to(torch.float64) - bits).clamp(min=smallest))
    return _largest(actual, exact, unit)


def _largest(actual: Tensor, exact: Tensor, unit: Tensor) -> float:
    errors = (actual.to(torch.float64) - exact).abs() / unit
    return float("inf") if errors.isnan().any() else errors.max().item()
