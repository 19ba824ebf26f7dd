"""The gradient of adaptive average pooling."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch_aclnn._operators import Operator

from benchmarks.case import Case, times
from benchmarks.draw import Draw
from benchmarks.families.planes import PlaneCase


@dataclass(frozen=True, kw_only=True)
class AdaptiveAvgPool(PlaneCase):
    """The gradient of a pooling to a size."""

    output_size: tuple[int, ...]

    def details(self) -> tuple[str, ...]:
        """Return the size pooled to."""
        return (f"to {times(self.output_size)}",)

    def arguments(self) -> tuple[Any, ...]:
        """Return nothing, as the operators take only sizes."""
        return ()

    def output_shape(self) -> tuple[int, ...]:
        """Replace the sizes of the plane."""
        return *self.shape[: -self.operator.dims], *self.output_size


# Shapes and the sizes that they are pooled to, by the number of dimensions: large ones here, others below.
LARGE: dict[int, tuple[Any, ...]] = {
    2: (((32, 2048, 7, 7), (1, 1)), ((32, 512, 14, 14), (7, 7)), ((16, 256, 56, 56), (6, 6))),
    3: (((8, 512, 4, 14, 14), (1, 1, 1)), ((8, 256, 8, 14, 14), (4, 7, 7)), ((4, 64, 16, 56, 56), (5, 6, 6))),
}
OTHERS: dict[int, tuple[Any, ...]] = {
    2: (((1, 64, 7, 7), (1, 1)), ((1, 3, 32, 32), (7, 7)), ((8, 64, 17, 13), (5, 6)), ((8, 64, 7, 7), (14, 10)), ((256, 56, 56), (6, 6))),
    3: (((1, 64, 2, 7, 7), (1, 1, 1)), ((2, 16, 7, 17, 13), (3, 5, 6)), ((2, 64, 3, 7, 7), (5, 14, 10)), ((64, 16, 28, 28), (5, 6, 6))),
}


def cases(operator: Operator) -> list[Case]:
    """Return the fixed ones."""
    case = lambda shape, size, quick: AdaptiveAvgPool(operator=operator, shape=shape, output_size=size, quick=quick)
    large = [case(*sizes, quick=i == 1) for i, sizes in enumerate(LARGE[operator.dims])]
    return [
        *large,
        *(replace(case, dtype=torch.bfloat16) for case in large),
        replace(large[1], dtype=torch.float16, quick=False),
        *(replace(case, channels_last=True, quick=False) for case in large[:2]),
        *(case(*sizes, quick=i == 0) for i, sizes in enumerate(OTHERS[operator.dims])),
    ]


def random_case(operator: Operator, draw: Draw) -> Case:
    """Draw sizes to pool to: half of them divisors of the plane's sizes, as in most networks, the others any that are not larger."""
    smallest, largest = {2: (5, 128), 3: (3, 48)}[operator.dims]
    layout = draw.layout(plane_dims=operator.dims, smallest_plane=smallest, largest_plane=largest)
    even = draw.chance(0.5)
    sides = layout["shape"][-operator.dims :]
    sizes = tuple(draw.choice([o for o in range(1, side + 1) if side % o == 0 or not even]) for side in sides)
    return AdaptiveAvgPool(operator=operator, **layout, output_size=sizes)
