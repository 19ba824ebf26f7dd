"""Average pooling whose gradient is aclnnAvgPool2dBackward."""

from typing import Any

import torch
from torch import Tensor
from torch_aclnn.autograd._linear import LinearBackward, LinearFunction

__all__ = ["AvgPool2d", "AvgPool2dBackward"]

# Bound once, because torch_aclnn.patch() puts another function in its place.
_forward = torch.nn.functional.avg_pool2d
_backward = torch.ops.torch_aclnn.avg_pool2d_backward.default


class AvgPool2d(LinearFunction):
    """(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) -> pooled input."""

    plane_dims = 2

    @staticmethod
    def forward(
        input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None
    ) -> Tensor:
        """Pool as torch does."""
        return _forward(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Call the entry point."""
        return AvgPool2dBackward.call(grad_output, ctx.input_size, *ctx.arguments), *(None,) * len(ctx.arguments)


class AvgPool2dBackward(LinearBackward):
    """(grad_output, input_size, and the arguments of :class:`AvgPool2d`) -> grad_input, by aclnnAvgPool2dBackward."""

    plane_dims = 2

    @staticmethod
    def forward(
        grad_output: Tensor,
        input_size: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        """Call the entry point."""
        return _backward(grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    @staticmethod
    def backward(ctx: Any, grad_grad_input: Tensor) -> tuple[Tensor | None, ...]:
        """The map is linear, so its derivative is the forward."""
        return AvgPool2d.call(grad_grad_input, *ctx.arguments), None, *(None,) * len(ctx.arguments)
