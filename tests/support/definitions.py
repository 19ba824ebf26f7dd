"""Gradients by their definitions, in float64 and without any of the engine's code: terms of a sum, for lists and for tensors."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

Shape = Sequence[int]
# A cell in each plane of the output's gradient, the cell in the same plane of the input's to which it is added, and what it is divided by.
Term = tuple[int, int, float]
# For each index along an axis of the output: the indices along that of the input to which it is added, and what it is divided by.
Axis = Iterable[tuple[Sequence[int], int]]


def last(dims: int, depth: Any, height: Any, width: Any) -> tuple[Any, ...]:
    """Return what belongs to the last dimensions, of which a plane has so many."""
    return (depth, height, width)[-dims:]


def terms_of_axes(axes: Iterable[Axis], plane: Shape, divisor: int | None = None) -> Iterator[Term]:
    """Combine the axes of a plane of the input of these sizes; a divisor stands in place of the axes' own."""
    for source, cell in enumerate(itertools.product(*axes)):
        count = divisor or math.prod(count for _, count in cell)
        for target in itertools.product(*(indices for indices, _ in cell)):
            position = 0
            for index, size in zip(target, plane, strict=True):
                position = position * size + index
            yield source, position, count


@dataclass(frozen=True)
class Definition:
    """A gradient that is a sum of terms, the same in each plane.

    Attributes:
        dims: of a plane.
        terms: makes them of the sizes of a plane of the output's gradient, those of a plane of the input's, and the attributes.

    """

    dims: int
    terms: Callable[..., Iterable[Term]]

    def _terms(self, grad_shape: Shape, shape: Shape, attributes: tuple[Any, ...]) -> list[Term]:
        return list(self.terms(tuple(grad_shape[-self.dims :]), tuple(shape[-self.dims :]), *attributes))

    def of_list(self, grad: Sequence[Any], grad_shape: Shape, shape: Shape, *attributes: Any) -> list[Any]:
        """Return the elements of the input's gradient."""
        grad_plane, plane = math.prod(grad_shape[-self.dims :]), math.prod(shape[-self.dims :])
        result, terms = [0.0] * math.prod(shape), self._terms(grad_shape, shape, attributes)
        for i in range(math.prod(shape[: -self.dims])):
            for source, target, divisor in terms:
                result[i * plane + target] += grad[i * grad_plane + source] / divisor
        return result

    def of_tensor(self, grad: "Tensor", shape: Shape, *attributes: Any) -> "Tensor":
        """Return the input's gradient as a tensor."""
        terms = self._terms(grad.shape, shape, attributes)
        grad = grad.to(torch.complex128 if grad.is_complex() else torch.float64).flatten(-self.dims)
        result = torch.zeros(*shape[: -self.dims], math.prod(shape[-self.dims :]), dtype=grad.dtype)
        if terms:
            sources, targets, divisors = zip(*terms, strict=True)
            result.index_add_(-1, torch.tensor(targets), grad[..., sources] / torch.tensor(divisors, dtype=torch.float64))
        return result.view(tuple(shape))
