"""Gradients by their definitions, in float64 and without any of the engine's code: terms of a sum, for lists and for tensors."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from support.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

Shape = Sequence[int]
# A cell in each plane of the output's gradient, the cell in the same plane of the input's to which it is added, and what it is divided by.
Term = tuple[int, int, float]


def cells(shape: Shape) -> Iterator[tuple[int, int]]:
    height, width = shape[-2:]
    return ((h, w) for h in range(height) for w in range(width))


def sum_terms(grad: Sequence[Any], grad_shape: Shape, shape: Shape, terms: Iterable[Term]) -> list[Any]:
    """Return the elements of the input's gradient."""
    grad_plane, plane = math.prod(grad_shape[-2:]), math.prod(shape[-2:])
    result, terms = [0.0] * math.prod(shape), list(terms)
    for i in range(math.prod(shape[:-2])):
        for source, target, divisor in terms:
            result[i * plane + target] += grad[i * grad_plane + source] / divisor
    return result


def sum_terms_of_tensor(grad: "Tensor", shape: Shape, terms: Iterable[Term]) -> "Tensor":
    """Return the input's gradient as a tensor."""
    grad = grad.to(torch.complex128 if grad.is_complex() else torch.float64).flatten(-2)
    result = torch.zeros(*shape[:-2], math.prod(shape[-2:]), dtype=grad.dtype)
    terms = list(terms)
    if terms:
        sources, targets, divisors = zip(*terms, strict=True)
        result.index_add_(-1, torch.tensor(targets), grad[..., sources] / torch.tensor(divisors, dtype=torch.float64))
    return result.view(tuple(shape))
