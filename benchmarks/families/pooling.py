"""The gradient of average pooling."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_aclnn._operators import Operator

from benchmarks.case import Case
from benchmarks.draw import Draw
from benchmarks.families.planes import PlaneCase


@dataclass(frozen=True, kw_only=True)
class AvgPool(PlaneCase):
    """The gradient of an average pooling whose windows are the same in each direction."""

    kernel: int
    stride: int
    padding: int = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

    @property
    def group(self) -> str:
        """The operator and the layout, because each layout has loops of its own."""
        return self.operator.name + " channels_last" * self.channels_last

    def details(self) -> tuple[str, ...]:
        """Return the window, and what is not the default."""
        window = f"k{self.kernel}s{self.stride}" + (f"p{self.padding}" if self.padding else "")
        divisor = f"divisor_override={self.divisor_override}" if self.divisor_override else ""
        return window, "ceil_mode" * self.ceil_mode, "count_include_pad=False" * (not self.count_include_pad), divisor

    def arguments(self) -> tuple[Any, ...]:
        """Return the window and the divisor."""
        kernel, stride, padding = ([value] * self.operator.dims for value in (self.kernel, self.stride, self.padding))
        return kernel, stride, padding, self.ceil_mode, self.count_include_pad, self.divisor_override

    def output_shape(self) -> tuple[int, ...]:
        """Return the shape that the forward returns."""
        return tuple(getattr(F, self.operator.function)(torch.empty(self.shape, device="meta"), *self.arguments()).shape)

    def aten_into(self, out: Tensor, grad_output: Tensor, input: Tensor) -> Callable[[], Any]:
        """Return a call of ATen's operator, which for volumes takes no half types, and writes no other layout."""
        if self.operator.dims == 2 or (out.dtype == torch.float32 and not self.channels_last):
            return super().aten_into(out, grad_output, input)
        return lambda: out.copy_(self.formula(grad_output, input))

    def formula(self, grad_output: Tensor, input: Tensor) -> Tensor:
        """Compute the gradient by ATen's operator."""
        if self.operator.dims == 2:
            return super().formula(grad_output, input)
        return super().formula(grad_output.float(), input.float()).to(grad_output.dtype)


# (shape, kernel, stride, padding) by the number of dimensions: large cases here; below small ones, and the sizes of uneven ones.
LARGE = {
    2: (((32, 64, 112, 112), 3, 2, 1), ((32, 256, 56, 56), 2, 2, 0), ((16, 192, 35, 35), 3, 1, 1), ((8, 512, 28, 28), 7, 7, 0)),
    3: (((4, 64, 16, 56, 56), 3, 2, 1), ((4, 128, 8, 56, 56), 2, 2, 0), ((2, 192, 8, 28, 28), 3, 1, 1), ((8, 512, 4, 14, 14), 4, 4, 0)),
}
SMALL = {2: (((1, 3, 32, 32), 2, 2, 0), ((1, 64, 7, 7), 3, 1, 1)), 3: (((1, 3, 8, 16, 16), 2, 2, 0), ((1, 64, 4, 7, 7), 3, 1, 1))}
UNEVEN = {2: (8, 64, 17, 13), 3: (2, 16, 7, 17, 13)}
ONE_BATCH = {2: (1, 256, 56, 56), 3: (1, 64, 16, 28, 28)}


def cases(operator: Operator) -> list[Case]:
    """Return the fixed ones."""

    def case(shape: tuple[int, ...], kernel: int, stride: int, padding: int = 0, **options: Any) -> AvgPool:
        return AvgPool(operator=operator, shape=shape, kernel=kernel, stride=stride, padding=padding, **options)

    large = [case(*layer, quick=i == 2) for i, layer in enumerate(LARGE[operator.dims])]
    small = [case(*layer, quick=i == 1) for i, layer in enumerate(SMALL[operator.dims])]
    half = replace(large[2], dtype=torch.float16, quick=False)
    uneven, one_batch = case(UNEVEN[operator.dims], 3, 2, 1), ONE_BATCH[operator.dims]
    other = (
        uneven,
        case(UNEVEN[operator.dims], 2, 2, ceil_mode=True),
        replace(uneven, count_include_pad=False),
        replace(uneven, divisor_override=5),
        case(one_batch, 2, 2),
        case(one_batch[1:], 3, 2, 1),
    )
    planes = [*large, *(replace(case, dtype=torch.bfloat16) for case in large), half, *small, *other]
    return planes + [replace(case, channels_last=True) for case in planes if len(case.shape) == len(one_batch)]


def random_case(operator: Operator, draw: Draw) -> Case:
    """Draw a window of up to 7 in each direction, its stride, its padding and, rarely, the other arguments."""
    smallest, largest = {2: (5, 128), 3: (3, 48)}[operator.dims]
    layout = draw.layout(plane_dims=operator.dims, smallest_plane=smallest, largest_plane=largest)
    kernel = draw.size(2, min(7, *layout["shape"][-operator.dims :]))
    return AvgPool(
        operator=operator,
        **layout,
        kernel=kernel,
        stride=draw.choice((1, 2, 3, kernel)),
        padding=draw.choice((0, kernel // 2)),
        ceil_mode=draw.chance(0.2),
        count_include_pad=draw.chance(0.8),
        divisor_override=5 if draw.chance(0.1) else None,
    )
