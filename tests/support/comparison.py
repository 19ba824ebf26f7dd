"""Comparing results with exact ones, in units in the last place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from support.dtypes import COMPLEX_TYPES, FLOATING_TYPES, HALF_TYPES, DType, pack
from support.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


def ordinal(element: bytes) -> int:
    """Number the floating-point values of a type in their order, so that neighbours differ by 1."""
    bits, sign = int.from_bytes(element, "little"), 1 << (8 * len(element) - 1)
    return -(bits - sign) if bits & sign else bits


def assert_close(elements: Sequence[bytes], expected: Sequence[Any], dtype: DType) -> None:
    """Compare with the exact results: half types to 1 unit in the last place, larger ones to 4, integers exactly."""
    assert len(elements) == len(expected)
    parts = 2 if dtype in COMPLEX_TYPES else 1
    floating = parts == 2 or dtype in FLOATING_TYPES
    allowed = (1 if dtype in HALF_TYPES else 4) if floating else 0
    for position, (element, value) in enumerate(zip(elements, expected, strict=True)):
        exact, size = pack(dtype, value), len(element) // parts
        for part in range(0, len(element), size):
            distance = abs(ordinal(element[part : part + size]) - ordinal(exact[part : part + size]))
            assert distance <= allowed, f"element {position}: {element.hex()} is {distance} units from {exact.hex()}"


def assert_rounded_once(actual: "Tensor", exact: "Tensor", scale: "Tensor | None" = None) -> None:
    """Check that `actual` is `exact` rounded once, or its neighbour.

    Half types are summed in float32. So the error may also be a few units of float32 in the last place of `scale`, the magnitude of what
    was summed (by default of the result's largest element), because terms that cancel leave their rounding behind.
    """
    actual = actual.detach().cpu()
    assert actual.shape == exact.shape
    if not actual.is_floating_point() or actual.dtype == torch.float64:
        tolerance = 0 if not (actual.is_floating_point() or actual.is_complex()) else 1e-13
        return torch.testing.assert_close(actual, exact.to(actual.dtype), rtol=tolerance, atol=tolerance)
    bound = (exact.abs().max() if scale is None else scale) * 2**-23 * 4 if exact.numel() else 0
    is_near = (actual.double() - exact).abs() <= bound
    if actual.dtype != torch.float32:
        is_near |= (_ordered_bits(actual) - _ordered_bits(exact.to(actual.dtype))).abs() <= 1
    assert is_near.all()
    return None


def _ordered_bits(values: "Tensor") -> "Tensor":
    """Map 16-bit floats to integers in which neighbours differ by one."""
    bits = values.contiguous().view(torch.int16).int()
    return torch.where(bits < 0, -(bits & 0x7FFF), bits)
