"""Max unpooling whose gradient is aclnnMaxUnpool3dBackward."""

from typing import Any

import torch
from torch import Tensor
from torch_aclnn.autograd._function import Function, cast
from torch_aclnn.autograd._planes import over_planes

__all__ = ["MaxUnpool3d", "MaxUnpool3dBackward"]

_forward = torch.ops.aten.max_unpool3d.default
_backward = torch.ops.torch_aclnn.max_unpool3d_backward.default


class MaxUnpool3d(Function):
    """(input, indices, output_size, stride, padding), each of the last three (D, H, W) -> unpooled input."""

    @staticmethod
    def forward(input: Tensor, indices: Tensor, output_size: Any, stride: Any, padding: Any) -> Tensor:
        """Unpool as torch does, and keep the dtype; elements only move, so nothing is lost where autocast on cpu goes through float32."""
        listed = input.float() if input.dtype == torch.bfloat16 and input.device.type == "npu" else input  # of aclnnMaxUnpool3d
        return cast(_forward(listed, indices, output_size, stride, padding), input.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the indices, not the input."""
        ctx.save_for_backward(inputs[1])
        ctx.arguments = inputs[2:]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Call the entry point."""
        (indices,) = ctx.saved_tensors
        return MaxUnpool3dBackward.call(grad_output, indices, *ctx.arguments), None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], input: Tensor, indices: Tensor, *arguments: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        return over_planes(lambda x, i: MaxUnpool3d.apply(x, i, *arguments), (input, indices), in_dims[:2], info.batch_size, 3)


class MaxUnpool3dBackward(Function):
    """(grad_output, indices, output_size, stride, padding) -> grad_input, by aclnnMaxUnpool3dBackward."""

    @staticmethod
    def forward(grad_output: Tensor, indices: Tensor, output_size: Any, stride: Any, padding: Any) -> Tensor:
        """Call the entry point. It does not list bfloat16, but it only moves elements, so another type of that width serves."""
        if grad_output.dtype == torch.bfloat16:
            return _backward(grad_output.view(torch.int16), indices, output_size, stride, padding).view(torch.bfloat16)
        return _backward(grad_output, indices, output_size, stride, padding)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep where each element came from."""
        ctx.save_for_backward(inputs[1])
        ctx.grad_output_shape = inputs[0].shape

    @staticmethod
    def backward(ctx: Any, grad_grad_input: Tensor) -> tuple[Tensor | None, ...]:
        """A gather's derivative is a scatter that adds, because two elements may have come from one place."""
        (indices,) = ctx.saved_tensors
        zeros = grad_grad_input.new_zeros(ctx.grad_output_shape).flatten(-3)
        with torch.autocast(zeros.device.type, enabled=False):  # in float16 it refuses bfloat16 here
            grad_grad_output = zeros.scatter_add(-1, indices.flatten(-3), grad_grad_input.flatten(-3))
        return grad_grad_output.view(ctx.grad_output_shape), None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], grad_output: Tensor, indices: Tensor, *arguments: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        return over_planes(
            lambda g, i: MaxUnpool3dBackward.apply(g, i, *arguments),
            (grad_output, indices),
            in_dims[:2],
            info.batch_size,
            3,
        )
