"""The five functions beside torch's own, for tests that hold for each of them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch_aclnn
import pytest
import torch
from torch import Tensor

_ours, _torch = torch_aclnn.functional, torch.nn.functional


def _nothing(size: tuple[int, ...]) -> tuple[Tensor, ...]:
    return ()


def _indices(size: tuple[int, ...]) -> tuple[Tensor, ...]:
    *leading, depth, height, width = size
    return (_torch.max_pool3d(torch.rand(*leading, 2 * depth, 2 * height, 2 * width), 2, return_indices=True)[1],)


def _affine(size: tuple[int, ...]) -> tuple[Tensor, ...]:
    return torch.rand(size[1]) + 0.5, torch.randn(size[1])


@dataclass(frozen=True)
class Case:
    """A function with fixed attributes; it takes one differentiable input and maybe other tensors."""

    name: str
    ours: Callable[..., Tensor]
    theirs: Callable[..., Tensor]
    sizes: tuple[tuple[int, ...], ...]
    others: Callable[[tuple[int, ...]], tuple[Tensor, ...]] = _nothing

    def inputs(self, device: str, dtype: torch.dtype = torch.float32, size: tuple[int, ...] | None = None) -> tuple[Tensor, ...]:
        """Return the input, of the case's first size unless another is given, and the other tensors."""
        size = size or self.sizes[0]
        return tuple(t.to(device) for t in (torch.randn(size).to(dtype), *self.others(size)))


CASES = (
    Case(
        "avg_pool2d",
        lambda x: _ours.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda x: _torch.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        ((2, 3, 8, 6), (4, 3, 9, 7), (5, 3, 12, 10)),
    ),
    Case(
        "adaptive_avg_pool2d",
        lambda x: _ours.adaptive_avg_pool2d(x, (3, 2)),
        lambda x: _torch.adaptive_avg_pool2d(x, (3, 2)),
        ((2, 3, 8, 6), (4, 3, 9, 7), (5, 3, 12, 10)),
    ),
    Case(
        "replication_pad2d",
        lambda x: _ours.replication_pad2d(x, (2, 1, 0, 3)),
        lambda x: _torch.pad(x, (2, 1, 0, 3), mode="replicate"),
        ((2, 3, 4, 6), (4, 3, 9, 7), (5, 3, 12, 10)),
    ),
    Case(
        "max_unpool3d",
        lambda x, indices: _ours.max_unpool3d(x, indices, 2),
        lambda x, indices: _torch.max_unpool3d(x, indices, 2),
        ((2, 2, 2, 2, 3), (4, 2, 3, 5, 6), (5, 2, 3, 6, 7)),
        _indices,
    ),
    Case(
        "batch_norm",
        lambda x, w, b: _ours.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: _torch.batch_norm(x, None, None, w, b, training=True),
        ((2, 3, 4, 6), (4, 3, 9, 7), (5, 3, 12, 10)),
        _affine,
    ),
)

for_each_function = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def gradient(function: Callable[..., Tensor], x: Tensor, *others: Tensor, grad_output: Tensor | None = None) -> Tensor:
    """Return the gradient by x, of what the function gives weighted with grad_output."""
    x = x.detach().requires_grad_()
    y = function(x, *others)
    weights = y.detach().float().cos().to(y.dtype) if grad_output is None else grad_output
    return torch.autograd.grad(y, x, weights)[0]
