"""Edge replication whose gradient is aclnnReplicationPad2dBackward."""

from typing import Any

import torch
from torch import Tensor
from torch_aclnn.autograd._function import Function
from torch_aclnn.autograd._planes import over_planes, with_batch

# Bound once, because torch_aclnn.patch() puts another function in its place.
_forward = torch.nn.functional.pad
_backward = torch.ops.torch_aclnn.replication_pad2d_backward.default


class ReplicationPad2d(Function):
    """(input, (left, right, top, bottom)) -> padded input."""

    @staticmethod
    def forward(input: Tensor, padding: Any) -> Tensor:
        """Pad as torch does, and keep the dtype, which autocast on cpu would make float32; elements only move, so nothing is lost."""
        return _forward(input, padding, mode="replicate").to(input.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the input's sizes, not the input."""
        ctx.input_size, ctx.padding = inputs[0].shape, inputs[1]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Call the entry point."""
        return ReplicationPad2dBackward.call(grad_output, ctx.input_size, ctx.padding), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], input: Tensor, padding: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        return over_planes(lambda x: ReplicationPad2d.apply(x, padding), (input,), in_dims[:1], info.batch_size, 2)


class ReplicationPad2dBackward(Function):
    """(grad_output, input_size, (left, right, top, bottom)) -> grad_input, by aclnnReplicationPad2dBackward."""

    @staticmethod
    def forward(grad_output: Tensor, input_size: Any, padding: Any) -> Tensor:
        """Call the entry point."""
        return _backward(grad_output, input_size, padding)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the padding."""
        ctx.padding = inputs[2]

    @staticmethod
    def backward(ctx: Any, grad_grad_input: Tensor) -> tuple[Tensor | None, ...]:
        """The map is linear, so its derivative is the forward."""
        return ReplicationPad2d.call(grad_grad_input, ctx.padding), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], grad_output: Tensor, input_size: Any, padding: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        sizes = with_batch(input_size, info.batch_size, 2)
        return over_planes(lambda g: ReplicationPad2dBackward.apply(g, sizes, padding), (grad_output,), in_dims[:1], info.batch_size, 2)
