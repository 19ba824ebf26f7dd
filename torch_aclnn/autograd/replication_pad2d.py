"""Edge replication whose gradient is aclnnReplicationPad2dBackward."""

from typing import Any

import torch
from torch import Tensor
from torch_aclnn.autograd._function import cast
from torch_aclnn.autograd._linear import LinearBackward, LinearFunction

__all__ = ["ReplicationPad2d", "ReplicationPad2dBackward"]

# Bound once, because torch_aclnn.patch() puts another function in its place.
_forward = torch.nn.functional.pad
_backward = torch.ops.torch_aclnn.replication_pad2d_backward.default


class ReplicationPad2d(LinearFunction):
    """(input, (left, right, top, bottom)) -> padded input."""

    plane_dims = 2

    @staticmethod
    def forward(input: Tensor, padding: Any) -> Tensor:
        """Pad as torch does, and keep the dtype, which autocast on cpu would make float32; elements only move, so nothing is lost."""
        return cast(_forward(input, padding, mode="replicate"), input.dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Call the entry point."""
        return ReplicationPad2dBackward.call(grad_output, ctx.input_size, *ctx.arguments), *(None,) * len(ctx.arguments)


class ReplicationPad2dBackward(LinearBackward):
    """(grad_output, input_size, (left, right, top, bottom)) -> grad_input, by aclnnReplicationPad2dBackward."""

    plane_dims = 2

    @staticmethod
    def forward(grad_output: Tensor, input_size: Any, padding: Any) -> Tensor:
        """Call the entry point."""
        return _backward(grad_output, input_size, padding)

    @staticmethod
    def backward(ctx: Any, grad_grad_input: Tensor) -> tuple[Tensor | None, ...]:
        """The map is linear, so its derivative is the forward."""
        return ReplicationPad2d.call(grad_grad_input, *ctx.arguments), None, *(None,) * len(ctx.arguments)
