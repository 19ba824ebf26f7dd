"""Batching for operators that treat each leading index of a tensor alike."""

from collections.abc import Callable
from typing import Any

from torch import Tensor


def over_planes(
    apply: Callable[..., Tensor], tensors: tuple[Tensor, ...], in_dims: tuple[int | None, ...], batch_size: int, plane_dims: int
) -> tuple[Tensor, int]:
    """Apply a function of (N, C, ...) or (C, ...) tensors to tensors with one more dimension, by folding that dimension into N.

    The operators never mix planes, so a mapped dimension is only more planes; a rank without N gets the mapped dimension as its N.
    """
    moved = [(t.movedim(d, 0) if d is not None else t.expand(batch_size, *t.shape)) for t, d in zip(tensors, in_dims, strict=True)]
    has_batch = moved[0].dim() == plane_dims + 3  # the plane comes after the mapped dimension, N and C
    if not has_batch:
        return apply(*moved), 0
    result = apply(*(t.flatten(0, 1) for t in moved))
    return result.unflatten(0, (batch_size, -1) if moved[0].shape[1] else (batch_size, 0)), 0


def with_batch(sizes: Any, batch_size: int, plane_dims: int) -> tuple[int, ...]:
    """Return the sizes of a tensor after :func:`over_planes` has folded the mapped dimension into it."""
    if len(sizes) == plane_dims + 2:
        return (batch_size * sizes[0], *sizes[1:])
    return (batch_size, *sizes)
