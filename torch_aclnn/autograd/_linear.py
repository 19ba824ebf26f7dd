"""What the functions of an operator share whose forward is a linear map of each plane, so that neither direction needs values again.

A subclass defines `forward` and `backward`, because torch.compile wants the former with each parameter by name and the latter as a static
method.
"""

from typing import Any, ClassVar

from torch import Tensor
from torch_aclnn.autograd._function import Function
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
        """Keep the arguments."""
        ctx.arguments = inputs[2:]

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], grad_output: Tensor, input_size: Any, *arguments: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more planes."""
        sizes = with_batch(input_size, info.batch_size, cls.plane_dims)
        return over_planes(lambda g: cls.apply(g, sizes, *arguments), (grad_output,), in_dims[:1], info.batch_size, cls.plane_dims)
