"""Adaptive average pooling whose gradient is aclnnAdaptiveAvgPool2dBackward."""

from typing import Any

import torch
from torch import Tensor
from torch_aclnn.autograd._function import Function
from torch_aclnn.autograd._planes import over_planes, with_batch

# Bound once, because torch_aclnn.patch() puts another function in its place.
_forward = torch.nn.functional.adaptive_avg_pool2d
_backward = torch.ops.torch_aclnn.adaptive_avg_pool2d_backward.default


class AdaptiveAvgPool2d(Function):
    """(input, output_size) -> pooled input."""

    @staticmethod
    def forward(input: Tensor, output_size: Any) -> Tensor:
        """Pool as torch does."""
        if input.device.type == "npu" and (torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()):
            # The function around this operator has a kernel on npu that takes neither symbolic sizes nor torch.func's tensors.
            return torch.ops.aten._adaptive_avg_pool2d.default(input, output_size)
        return _forward(input, output_size)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the input's sizes, not the input."""
        ctx.input_size = inputs[0].shape

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Call the entry point."""
        return AdaptiveAvgPool2dBackward.call(grad_output, ctx.input_size), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], input: Tensor, output_size: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        return over_planes(lambda x: AdaptiveAvgPool2d.apply(x, output_size), (input,), in_dims[:1], info.batch_size, 2)


class AdaptiveAvgPool2dBackward(Function):
    """(grad_output, input_size) -> grad_input, by aclnnAdaptiveAvgPool2dBackward."""

    @staticmethod
    def forward(grad_output: Tensor, input_size: Any) -> Tensor:
        """Call the entry point."""
        return _backward(grad_output, input_size)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the pooled size, which is all that the forward needs."""
        ctx.output_size = inputs[0].shape[-2:]

    @staticmethod
    def backward(ctx: Any, grad_grad_input: Tensor) -> tuple[Tensor | None, ...]:
        """The map is linear, so its derivative is the forward."""
        return AdaptiveAvgPool2d.call(grad_grad_input, ctx.output_size), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], grad_output: Tensor, input_size: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        sizes = with_batch(input_size, info.batch_size, 2)
        return over_planes(lambda g: AdaptiveAvgPool2dBackward.apply(g, sizes), (grad_output,), in_dims[:1], info.batch_size, 2)
