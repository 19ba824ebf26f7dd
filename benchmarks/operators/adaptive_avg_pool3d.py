"""The gradient of adaptive average pooling of volumes."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks.case import Case, times
from benchmarks.draw import Draw
from benchmarks.planes import PlaneCase


@dataclass(frozen=True, kw_only=True)
class AdaptiveAvgPool3d(PlaneCase):
    """The gradient of adaptive_avg_pool3d."""

    operator = "adaptive_avg_pool3d"
    plane_dims = 3
    output_size: tuple[int, int, int]

    def details(self) -> tuple[str, ...]:
        """Return the size pooled to."""
        return (f"to {times(self.output_size)}",)

    def arguments(self) -> tuple[Any, ...]:
        """Return nothing: the sizes say all."""
        return ()

    def output_shape(self) -> tuple[int, ...]:
        """Replace the last three sizes."""
        return *self.shape[:-3], *self.output_size


def _cases() -> list[Case]:
    large = (
        AdaptiveAvgPool3d(shape=(8, 512, 4, 14, 14), output_size=(1, 1, 1)),
        AdaptiveAvgPool3d(shape=(8, 256, 8, 14, 14), output_size=(4, 7, 7), quick=True),
        AdaptiveAvgPool3d(shape=(4, 64, 16, 56, 56), output_size=(5, 6, 6)),
    )
    return [
        *large,
        *(replace(case, dtype=torch.bfloat16) for case in large),
        replace(large[1], dtype=torch.float16, quick=False),
        *(replace(case, channels_last=True, quick=False) for case in large[:2]),
        AdaptiveAvgPool3d(shape=(1, 64, 2, 7, 7), output_size=(1, 1, 1), quick=True),
        AdaptiveAvgPool3d(shape=(2, 16, 7, 17, 13), output_size=(3, 5, 6)),
        AdaptiveAvgPool3d(shape=(2, 64, 3, 7, 7), output_size=(5, 14, 10)),
        AdaptiveAvgPool3d(shape=(64, 16, 28, 28), output_size=(5, 6, 6)),
    ]


def random_case(draw: Draw) -> Case:
    """Draw sizes to pool to: half of the time divisors of the plane's, as most networks have them, else any that are not larger."""
    layout = draw.layout(plane_dims=3, smallest_plane=3, largest_plane=48)
    even = draw.chance(0.5)
    sides = layout["shape"][-3:]
    depth, height, width = (draw.choice([o for o in range(1, side + 1) if side % o == 0 or not even]) for side in sides)
    return AdaptiveAvgPool3d(**layout, output_size=(depth, height, width))


CASES = _cases()
