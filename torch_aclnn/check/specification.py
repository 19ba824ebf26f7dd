"""The specification of an operator, by which it is checked and compared with torch's own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_aclnn.check.samples import Sample

Layer = Callable[[Tensor], Tensor]


def same_arguments(sample: Sample) -> tuple[Any, ...]:
    """Return the arguments of a torch operator that takes the same arguments as ours."""
    return *sample.tensors, *sample.arguments


def input_for_sizes(sample: Sample) -> tuple[Any, ...]:
    """Return the arguments of a torch operator that takes the forward's input, and reads its sizes alone, where ours takes the sizes."""
    (grad_output,), (input_size, *attributes) = sample.tensors, sample.arguments
    return grad_output, grad_output.new_empty(input_size), *attributes


@dataclass(frozen=True, kw_only=True)
class Specification:
    """The documented properties of an operator, calls of it, and the function that it differentiates.

    Attributes:
        dtypes: the dtypes of the gradient that are tried; :mod:`torch_aclnn.check.listed` has those that must be taken.
        sample: a function that makes a call from a dtype and further arguments, which the next three attributes have.
        small: the arguments for calls that are compared with the definition.
        large: those for a call that is repeated.
        tiny: those for a call that is timed.
        aten_arguments: the arguments of torch's own operator for the gradient of a sample.
        layers: returns our function and torch's own, both of one tensor, whose shape and device they may depend on.
        layer_shape: the shape of the tensor for which kept memory is counted.
        tiny_layer_shape: the shape of the tensor for which forward and backward are timed.
        only_moves_elements: no bit may change.
        may_use_float16: before A2 products, FLOAT may be computed in FLOAT16.

    """

    dtypes: tuple[torch.dtype, ...]
    sample: Callable[..., Sample]
    small: tuple[tuple[Any, ...], ...]
    large: tuple[Any, ...]
    tiny: tuple[Any, ...]
    aten_arguments: Callable[[Sample], tuple[Any, ...]] = same_arguments
    layers: Callable[[Tensor], tuple[Layer, Layer]]
    layer_shape: tuple[int, ...] = (4, 16, 32, 32)
    tiny_layer_shape: tuple[int, ...] = (1, 1, 4, 4)
    only_moves_elements: bool = False
    may_use_float16: bool = False

    def samples(self, dtype: torch.dtype) -> Iterator[Sample]:
        """Return the small calls."""
        return (self.sample(dtype, *arguments) for arguments in self.small)
