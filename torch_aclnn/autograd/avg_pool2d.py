"""Average pooling whose gradient is aclnnAvgPool2dBackward."""

from typing import Any

import torch
from torch import Tensor
from torch_aclnn.autograd._function import Function
from torch_aclnn.autograd._planes import over_planes, with_batch

# Bound once, because torch_aclnn.patch() puts another function in its place.
_forward = torch.nn.functional.avg_pool2d
_backward = torch.ops.torch_aclnn.avg_pool2d_backward.default


class AvgPool2d(Function):
    """(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) -> pooled input."""

    @staticmethod
    def forward(
        input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None
    ) -> Tensor:
        """Pool as torch does."""
        return _forward(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the input's sizes, not the input."""
        ctx.input_size, ctx.arguments = inputs[0].shape, inputs[1:]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Call the entry point."""
        return AvgPool2dBackward.call(grad_output, ctx.input_size, *ctx.arguments), *(None,) * len(ctx.arguments)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], input: Tensor, *arguments: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        return over_planes(lambda x: AvgPool2d.apply(x, *arguments), (input,), in_dims[:1], info.batch_size, 2)


class AvgPool2dBackward(Function):
    """(grad_output, input_size, and the arguments of :class:`AvgPool2d`) -> grad_input, by aclnnAvgPool2dBackward."""

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
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the attributes."""
        ctx.arguments = inputs[2:]

    @staticmethod
    def backward(ctx: Any, grad_grad_input: Tensor) -> tuple[Tensor | None, ...]:
        """The map is linear, so its derivative is the forward."""
        return AvgPool2d.call(grad_grad_input, *ctx.arguments), None, *(None,) * len(ctx.arguments)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], grad_output: Tensor, input_size: Any, *arguments: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        sizes = with_batch(input_size, info.batch_size, 2)
        return over_planes(lambda g: AvgPool2dBackward.apply(g, sizes, *arguments), (grad_output,), in_dims[:1], info.batch_size, 2)
