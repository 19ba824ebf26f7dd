"""Adaptive average pooling of volumes whose gradient is aclnnAdaptiveAvgPool3dBackward."""

from typing import Any

import torch
from torch import Tensor
from torch_aclnn.autograd._linear import LinearBackward, LinearFunction

__all__ = ["AdaptiveAvgPool3d", "AdaptiveAvgPool3dBackward"]

# Bound once, because torch_aclnn.patch() puts another function in its place.
_forward = torch.nn.functional.adaptive_avg_pool3d
_backward = torch.ops.torch_aclnn.adaptive_avg_pool3d_backward.default


class AdaptiveAvgPool3d(LinearFunction):
    """(input, output_size) -> pooled input."""

    plane_dims = 3

    @staticmethod
    def forward(input: Tensor, output_size: Any) -> Tensor:
        """Pool as torch does, and keep the dtype, which autocast on cpu would make float32."""
        if input.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            with torch.autocast("cpu", enabled=False):
                return _forward(input, output_size)
        return _forward(input, output_size)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Call the entry point, to which the two sizes are arguments enough."""
        return AdaptiveAvgPool3dBackward.call(grad_output, ctx.input_size), None


class AdaptiveAvgPool3dBackward(LinearBackward):
    """(grad_output, input_size) -> grad_input, by aclnnAdaptiveAvgPool3dBackward."""

    plane_dims = 3

    @staticmethod
    def forward(grad_output: Tensor, input_size: Any) -> Tensor:
        """Call the entry point."""
        return _backward(grad_output, input_size)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the pooled size, which is all that the forward needs."""
        ctx.output_size = inputs[0].shape[-3:]

    @staticmethod
    def backward(ctx: Any, grad_grad_input: Tensor) -> tuple[Tensor | None, ...]:
        """The map is linear, so its derivative is the forward."""
        return AdaptiveAvgPool3d.call(grad_grad_input, ctx.output_size), None
