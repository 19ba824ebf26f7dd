"""Max unpoolings: elements move to the places in `indices`, and back."""

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_aclnn._operators import Operator
from torch_aclnn.autograd._function import Function, cast, make_function, of_name
from torch_aclnn.autograd._planes import over_planes


class _OfIndices(Function):
    """(tensor, indices, *arguments) -> tensor, plane by plane."""

    plane_dims: ClassVar[int]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the indices and the tensor's sizes."""
        ctx.save_for_backward(inputs[1])
        ctx.size, ctx.arguments = inputs[0].shape, inputs[2:]

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], tensor: Tensor, indices: Tensor, *arguments: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        return over_planes(lambda t, i: cls.apply(t, i, *arguments), (tensor, indices), in_dims[:2], info.batch_size, cls.plane_dims)


def make_max_unpooling(operator: Operator) -> None:
    """Make the Functions of a max unpooling."""
    name, dims = operator.forward_class, operator.dims
    atens = getattr(torch.ops.aten, operator.function).default
    op = getattr(torch.ops.torch_aclnn, operator.backward).default
    takes_pooling = dims == 3  # the backward of 2-D unpooling takes the result's size alone

    def forward(input: Tensor, indices: Tensor, output_size: Any, stride: Any, padding: Any) -> Tensor:
        # torch_npu's forward does not list bfloat16. Elements only move, so nothing is lost where it, or autocast on cpu, takes float32.
        listed = input.float() if input.dtype == torch.bfloat16 and input.device.type == "npu" else input
        pooling = (stride, padding) if takes_pooling else ()
        return cast(atens(listed, indices, output_size, *pooling), input.dtype)

    def backward(grad_output: Tensor, indices: Tensor, output_size: Any, stride: Any, padding: Any) -> Tensor:
        pooling = (stride, padding) if takes_pooling else ()
        return op(grad_output, indices, output_size, *pooling)

    def differentiate_forward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        (indices,) = ctx.saved_tensors
        return of_name(f"{name}Backward").call(grad_output, indices, *ctx.arguments), None, None, None, None

    def differentiate_backward(ctx: Any, grad_grad_input: Tensor) -> tuple[Tensor | None, ...]:
        # A gather's derivative is a scatter that adds, because two elements may have come from one place.
        (indices,) = ctx.saved_tensors
        zeros = grad_grad_input.new_zeros(ctx.size).flatten(-dims)
        with torch.autocast(zeros.device.type, enabled=False):  # under autocast to float16 scatter refuses bfloat16
            grad_grad_output = zeros.scatter_add(-1, indices.flatten(-dims), grad_grad_input.flatten(-dims))
        return grad_grad_output.view(ctx.size), None, None, None, None

    signature = "indices, output_size, stride, padding"
    make_function(name, _OfIndices, f"(input, {signature}) -> unpooled input.", dims, forward, differentiate_forward)
    make_function(
        f"{name}Backward",
        _OfIndices,
        f"(grad_output, {signature}) -> grad_input, by {operator.entry_point}.",
        dims,
        backward,
        differentiate_backward,
    )
