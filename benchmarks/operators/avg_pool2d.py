"""The gradient of average pooling."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn import functional as F

from benchmarks.case import Case
from benchmarks.draw import Draw
from benchmarks.planes import PlaneCase


@dataclass(frozen=True, kw_only=True)
class AvgPool2d(PlaneCase):
    """The gradient of avg_pool2d."""

    operator = "avg_pool2d"
    kernel: int
    stride: int
    padding: int = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

    @property
    def group(self) -> str:
        """The two layouts have loops of their own."""
        return self.operator + " channels_last" * self.channels_last

    def details(self) -> tuple[str, ...]:
        """Return the window, and what is not the default."""
        window = f"k{self.kernel}s{self.stride}" + (f"p{self.padding}" if self.padding else "")
        divisor = f"divisor_override={self.divisor_override}" if self.divisor_override else ""
        return window, "ceil_mode" * self.ceil_mode, "count_include_pad=False" * (not self.count_include_pad), divisor

    def arguments(self) -> tuple[Any, ...]:
        """Return the window and the divisor."""
        kernel, stride, padding = ([value] * 2 for value in (self.kernel, self.stride, self.padding))
        return kernel, stride, padding, self.ceil_mode, self.count_include_pad, self.divisor_override

    def output_shape(self) -> tuple[int, ...]:
        """Ask the forward."""
        return tuple(F.avg_pool2d(torch.empty(self.shape, device="meta"), *self.arguments()).shape)


def _cases() -> list[Case]:
    large = (
        AvgPool2d(shape=(32, 64, 112, 112), kernel=3, stride=2, padding=1),
        AvgPool2d(shape=(32, 256, 56, 56), kernel=2, stride=2),
        AvgPool2d(shape=(16, 192, 35, 35), kernel=3, stride=1, padding=1, quick=True),
        AvgPool2d(shape=(8, 512, 28, 28), kernel=7, stride=7),
    )
    small = (
        AvgPool2d(shape=(1, 3, 32, 32), kernel=2, stride=2),
        AvgPool2d(shape=(1, 64, 7, 7), kernel=3, stride=1, padding=1, quick=True),
    )
    half = replace(large[2], dtype=torch.float16, quick=False)
    uneven = AvgPool2d(shape=(8, 64, 17, 13), kernel=3, stride=2, padding=1)
    other = (
        uneven,
        AvgPool2d(shape=(8, 64, 17, 13), kernel=2, stride=2, ceil_mode=True),
        replace(uneven, count_include_pad=False),
        replace(uneven, divisor_override=5),
        AvgPool2d(shape=(1, 256, 56, 56), kernel=2, stride=2),
        AvgPool2d(shape=(256, 56, 56), kernel=3, stride=2, padding=1),
    )
    planes = [*large, *(replace(case, dtype=torch.bfloat16) for case in large), half, *small, *other]
    return planes + [replace(case, channels_last=True) for case in planes if len(case.shape) == 4]


def random_case(draw: Draw) -> Case:
    """Draw a window of up to 7x7, its step, its padding and what is seldom set."""
    layout = draw.layout(plane_dims=2, smallest_plane=5, largest_plane=128)
    kernel = draw.size(2, min(7, *layout["shape"][-2:]))
    return AvgPool2d(
        **layout,
        kernel=kernel,
        stride=draw.choice((1, 2, 3, kernel)),
        padding=draw.choice((0, kernel // 2)),
        ceil_mode=draw.chance(0.2),
        count_include_pad=draw.chance(0.8),
        divisor_override=5 if draw.chance(0.1) else None,
    )


CASES = _cases()
