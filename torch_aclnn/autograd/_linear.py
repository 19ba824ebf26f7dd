"""Operators whose forward is a linear map of each plane, so that neither direction needs values again: average poolings and paddings."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_aclnn._operators import Operator
from torch_aclnn.autograd._function import Function, cast, make_function, of_name
from torch_aclnn.autograd._planes import over_planes, with_batch


class LinearFunction(Function):
    """(input, *arguments) -> output, plane by plane."""

    plane_dims: ClassVar[int]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the input's sizes, not the input."""
        ctx.input_size, ctx.arguments = inputs[0].shape, inputs[1:]

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], input: Tensor, *arguments: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        return over_planes(lambda x: cls.apply(x, *arguments), (input,), in_dims[:1], info.batch_size, cls.plane_dims)


class LinearBackward(Function):
    """(grad_output, input_size, *arguments) -> grad_input, plane by plane."""

    plane_dims: ClassVar[int]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the arguments, and the size of what is differentiated."""
        ctx.size, ctx.arguments = inputs[0].shape, inputs[2:]

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], grad_output: Tensor, input_size: Any, *arguments: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        sizes = with_batch(input_size, info.batch_size, cls.plane_dims)
        return over_planes(lambda g: cls.apply(g, sizes, *arguments), (grad_output,), in_dims[:1], info.batch_size, cls.plane_dims)


def _make_pair(
    operator: Operator, signature: str, forward: Callable[..., Tensor], backward: Callable[..., Tensor], sizes_suffice: bool = False
) -> None:
    """Make the two Functions of an operator, each of which is the other's derivative.

    Args:
        operator: whose they are.
        signature: the arguments of the forward besides the tensor.
        forward: torch's function. torch.compile wants each parameter by name, not `*arguments`.
        backward: the operator.
        sizes_suffice: the backward takes only the gradient and the input's sizes, and the forward the size of the gradient's planes.

    """
    name, dims = operator.forward_class, operator.dims

    def differentiate_forward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        arguments = () if sizes_suffice else ctx.arguments
        return of_name(f"{name}Backward").call(grad_output, ctx.input_size, *arguments), *(None,) * len(ctx.arguments)

    def differentiate_backward(ctx: Any, grad_grad_input: Tensor) -> tuple[Tensor | None, ...]:
        arguments = (ctx.size[-dims:],) if sizes_suffice else ctx.arguments
        return of_name(name).call(grad_grad_input, *arguments), None, *(None,) * len(ctx.arguments)

    make_function(name, LinearFunction, f"(input, {signature}) -> output.", dims, forward, differentiate_forward)
    taken = "input_size" if sizes_suffice else f"input_size, {signature}"
    doc = f"(grad_output, {taken}) -> grad_input, by {operator.entry_point}."
    make_function(f"{name}Backward", LinearBackward, doc, dims, backward, differentiate_backward)


def make_average_pooling(operator: Operator) -> None:
    """Make the Functions of an average pooling."""
    is_of_volumes = operator.dims == 3  # not in the closure, where torch.compile cannot trace `operator`
    # Kept here, because torch_aclnn.patch() replaces the function.
    torchs = getattr(torch.nn.functional, operator.function)
    op = getattr(torch.ops.torch_aclnn, operator.backward).default

    def forward(
        input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None
    ) -> Tensor:
        # torch's 3-D pooling on cpu has no half types.
        widens = is_of_volumes and input.device.type == "cpu" and input.itemsize == 2
        pooled = torchs(input.float() if widens else input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return cast(pooled, input.dtype)

    def backward(
        grad_output: Tensor,
        input_size: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        return op(grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    _make_pair(operator, "kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override", forward, backward)


def make_adaptive_average_pooling(operator: Operator) -> None:
    """Make the Functions of an adaptive average pooling."""
    torchs = getattr(torch.nn.functional, operator.function)
    atens = getattr(torch.ops.aten, f"_{operator.function}").default
    op = getattr(torch.ops.torch_aclnn, operator.backward).default

    def forward(input: Tensor, output_size: Any) -> Tensor:
        if input.device.type == "npu" and (torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()):
            # ATen's operator is called, because torch's function on npu takes neither symbolic sizes nor torch.func's tensors.
            return atens(input, output_size)
        if input.device.type == "cpu" and torch.is_autocast_enabled("cpu"):  # autocast would make the result float32
            with torch.autocast("cpu", enabled=False):
                return torchs(input, output_size)
        return torchs(input, output_size)

    def backward(grad_output: Tensor, input_size: Any) -> Tensor:
        return op(grad_output, input_size)

    _make_pair(operator, "output_size", forward, backward, sizes_suffice=True)


def make_padding(operator: Operator) -> None:
    """Make the Functions of a padding."""
    torchs = torch.nn.functional.pad
    op = getattr(torch.ops.torch_aclnn, operator.backward).default
    mode = operator.mode
    assert mode is not None

    def forward(input: Tensor, padding: Any) -> Tensor:
        # Autocast on cpu would make it float32; elements only move, so nothing is lost.
        return cast(torchs(input, padding, mode=mode), input.dtype)

    def backward(grad_output: Tensor, input_size: Any, padding: Any) -> Tensor:
        return op(grad_output, input_size, padding)

    _make_pair(operator, "padding", forward, backward)
