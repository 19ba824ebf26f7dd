"""Calls on tiny tensors, ours and torch's (on npu: torch_npu's) for the same thing."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch_aclnn
import torch
from torch import Tensor
from torch.nn import functional as F

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def operator_pairs(device: str) -> dict[str, Pair]:
    """Return calls of the bare operators: a new result, and one given by `out`. Nothing but gather differentiates max_unpool3d there."""
    aten, ours = torch.ops.aten, torch.ops.torch_aclnn
    values, size = torch.arange(36.0, device=device), (1, 1, 4, 4)
    grad, input = values[:4].view(1, 1, 2, 2), values[:16].view(size)
    pool = ((2, 2), (2, 2), (0, 0), False, True, None)
    padded, sides = values.view(1, 1, 6, 6), (1, 1, 1, 1)
    volume, indices = values[:8].view(1, 1, 2, 2, 2), torch.full((1, 1, 1, 1, 1), 5, device=device)
    unpool = (volume, indices, (2, 2, 2), (2, 2, 2), (0, 0, 0))
    planes, flat_indices = volume.flatten(-3), indices.flatten(-3)
    channel, count = torch.ones(1, device=device), torch.tensor([16], dtype=torch.int32, device=device)
    norm = (input, input, channel, channel, channel, channel, channel, count)
    out, picked = torch.empty_like(input), torch.empty_like(indices, dtype=torch.float32)
    average, adaptive = aten.avg_pool2d_backward, aten._adaptive_avg_pool2d_backward
    replication, elemt = aten.replication_pad2d_backward, aten.batch_norm_backward_elemt
    return {
        "avg_pool2d_backward": (
            partial(ours.avg_pool2d_backward.default, grad, size, *pool),
            partial(average.default, grad, input, *pool),
        ),
        "avg_pool2d_backward.out": (
            partial(ours.avg_pool2d_backward.out, grad, size, *pool, out=out),
            partial(average.grad_input, grad, input, *pool, grad_input=out),
        ),
        "adaptive_avg_pool2d_backward": (
            partial(ours.adaptive_avg_pool2d_backward.default, grad, size),
            partial(adaptive.default, grad, input),
        ),
        "adaptive_avg_pool2d_backward.out": (
            partial(ours.adaptive_avg_pool2d_backward.out, grad, size, out=out),
            partial(adaptive.out, grad, input, out=out),
        ),
        "replication_pad2d_backward": (
            partial(ours.replication_pad2d_backward.default, padded, size, sides),
            partial(replication.default, padded, input, sides),
        ),
        "replication_pad2d_backward.out": (
            partial(ours.replication_pad2d_backward.out, padded, size, sides, out=out),
            partial(replication.grad_input, padded, input, sides, grad_input=out),
        ),
        "max_unpool3d_backward (gather)": (
            partial(ours.max_unpool3d_backward.default, *unpool),
            partial(aten.gather.default, planes, -1, flat_indices),
        ),
        "max_unpool3d_backward.out (gather)": (
            partial(ours.max_unpool3d_backward.out, *unpool, out=picked),
            partial(aten.gather.out, planes, -1, flat_indices, out=picked.flatten(-3)),
        ),
        "batch_norm_elemt_backward": (
            partial(ours.batch_norm_elemt_backward.default, *norm),
            partial(elemt.default, *norm),
        ),
        "batch_norm_elemt_backward.out": (
            partial(ours.batch_norm_elemt_backward.out, *norm, out=out),
            partial(elemt.out, *norm, out=out),
        ),
    }


def autograd_pairs(device: str) -> dict[str, Pair]:
    """Return a forward and backward of torch_aclnn.functional's functions and of torch.nn.functional's."""
    ours = torch_aclnn.functional
    image = torch.arange(16.0, device=device).view(1, 1, 4, 4).requires_grad_()
    volume = torch.arange(2.0, device=device).view(1, 1, 1, 1, 2).requires_grad_()
    indices = torch.tensor([0, 9], device=device).view(1, 1, 1, 1, 2)

    def pair(input: Tensor, mine: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor]) -> Pair:
        grad_output = torch.ones_like(mine(input))
        return tuple(partial(_forward_backward, function, input, grad_output) for function in (mine, theirs))

    return {
        "avg_pool2d": pair(image, partial(ours.avg_pool2d, kernel_size=2), partial(F.avg_pool2d, kernel_size=2)),
        "adaptive_avg_pool2d": pair(
            image,
            partial(ours.adaptive_avg_pool2d, output_size=2),
            partial(F.adaptive_avg_pool2d, output_size=2),
        ),
        "replication_pad2d": pair(
            image,
            partial(ours.replication_pad2d, padding=1),
            partial(F.pad, pad=(1, 1, 1, 1), mode="replicate"),
        ),
        "max_unpool3d": pair(
            volume,
            partial(ours.max_unpool3d, indices=indices, kernel_size=2),
            partial(F.max_unpool3d, indices=indices, kernel_size=2),
        ),
        "batch_norm": pair(
            image,
            partial(ours.batch_norm, running_mean=None, running_var=None, training=True),
            partial(F.batch_norm, running_mean=None, running_var=None, training=True),
        ),
    }


def _forward_backward(function: Callable[[Tensor], Tensor], input: Tensor, grad_output: Tensor) -> Tensor:
    return torch.autograd.grad(function(input), input, grad_output)[0]
