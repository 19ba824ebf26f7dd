"""The gradient of adaptive average pooling."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks.case import Case, times
from benchmarks.draw import Draw
from benchmarks.planes import PlaneCase


@dataclass(frozen=True, kw_only=True)
class AdaptiveAvgPool2d(PlaneCase):
    """The gradient of adaptive_avg_pool2d."""

    operator = "adaptive_avg_pool2d"
    output_size: tuple[int, int]

    def details(self) -> tuple[str, ...]:
        """Return the size pooled to."""
        return (f"to {times(self.output_size)}",)

    def arguments(self) -> tuple[Any, ...]:
        """Return nothing: the sizes say all."""
        return ()

    def output_shape(self) -> tuple[int, ...]:
        """Replace the last two sizes."""
        return *self.shape[:-2], *self.output_size


def _cases() -> list[Case]:
    large = (
        AdaptiveAvgPool2d(shape=(32, 2048, 7, 7), output_size=(1, 1)),
        AdaptiveAvgPool2d(shape=(32, 512, 14, 14), output_size=(7, 7), quick=True),
        AdaptiveAvgPool2d(shape=(16, 256, 56, 56), output_size=(6, 6)),
    )
    return [
        *large,
        *(replace(case, dtype=torch.bfloat16) for case in large),
        replace(large[1], dtype=torch.float16, quick=False),
        *(replace(case, channels_last=True, quick=False) for case in large[:2]),
        AdaptiveAvgPool2d(shape=(1, 3, 32, 32), output_size=(7, 7)),
        AdaptiveAvgPool2d(shape=(1, 64, 7, 7), output_size=(1, 1), quick=True),
        AdaptiveAvgPool2d(shape=(8, 64, 17, 13), output_size=(5, 6)),
        AdaptiveAvgPool2d(shape=(8, 64, 7, 7), output_size=(14, 10)),
        AdaptiveAvgPool2d(shape=(256, 56, 56), output_size=(6, 6)),
    ]


def random_case(draw: Draw) -> Case:
    """Draw sizes to pool to: half of the time divisors of the plane's, as most networks have them, else any that are not larger."""
    layout = draw.layout(plane_dims=2, smallest_plane=5, largest_plane=128)
    even = draw.chance(0.5)
    sides = layout["shape"][-2:]
    height, width = (draw.choice([o for o in range(1, side + 1) if side % o == 0 or not even]) for side in sides)
    return AdaptiveAvgPool2d(**layout, output_size=(height, width))


CASES = _cases()
