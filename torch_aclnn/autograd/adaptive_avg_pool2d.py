"""Adaptive average pooling whose gradient is aclnnAdaptiveAvgPool2dBackward."""

from typing import Any

import torch
from torch import Tensor
from torch_aclnn.autograd._linear import LinearBackward, LinearFunction

__all__ = ["AdaptiveAvgPool2d", "AdaptiveAvgPool2dBackward"]

# Bound once, because torch_aclnn.patch() puts another function in its place.
_forward = torch.nn.functional.adaptive_avg_pool2d
_backward = torch.ops.torch_aclnn.adaptive_avg_pool2d_backward.default


class AdaptiveAvgPool2d(LinearFunction):
    """(input, output_size) -> pooled input."""

    plane_dims = 2

    @staticmethod
    def forward(input: Tensor, output_size: Any) -> Tensor:
        """Pool as torch does."""
        if input.device.type == "npu" and (torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()):
            # The function around this operator has a kernel on npu that takes neither symbolic sizes nor torch.func's tensors.
            return torch.ops.aten._adaptive_avg_pool2d.default(input, output_size)
        return _forward(input, output_size)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Call the entry point, to which the two sizes are arguments enough."""
        return AdaptiveAvgPool2dBackward.call(grad_output, ctx.input_size), None


class AdaptiveAvgPool2dBackward(LinearBackward):
    """(grad_output, input_size) -> grad_input, by aclnnAdaptiveAvgPool2dBackward."""

    plane_dims = 2

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
