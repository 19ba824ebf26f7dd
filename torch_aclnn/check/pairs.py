"""The same thing by this package and by torch_npu alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs

Call = Callable[[], Any]


def operator_calls() -> dict[str, tuple[Call, Call | None]]:
    """Return calls of the bare operators on tiny tensors. torch_npu has none that unpools."""
    aten, torch_aclnn = torch.ops.aten, torch.ops.torch_aclnn
    values, size, sides = torch.arange(36.0).to("npu"), (1, 1, 4, 4), (1, 1, 1, 1)
    grad, input, padded = values[:4].view(1, 1, 2, 2), values[:16].view(size), values.view(1, 1, 6, 6)
    pool = ((2, 2), (2, 2), (0, 0), False, True, None)
    volume, indices = values[:8].view(1, 1, 2, 2, 2), torch.full((1, 1, 1, 1, 1), 5).to("npu")
    channel, count = torch.ones(1).to("npu"), torch.tensor([16], dtype=torch.int32).to("npu")
    norm = (input, input, channel, channel, channel, channel, channel, count)
    return {
        "avg_pool2d": (
            partial(torch_aclnn.avg_pool2d_backward.default, grad, size, *pool),
            partial(aten.avg_pool2d_backward.default, grad, input, *pool),
        ),
        "adaptive_avg_pool2d": (
            partial(torch_aclnn.adaptive_avg_pool2d_backward.default, grad, size),
            partial(aten._adaptive_avg_pool2d_backward.default, grad, input),
        ),
        "replication_pad2d": (
            partial(torch_aclnn.replication_pad2d_backward.default, padded, size, sides),
            partial(aten.replication_pad2d_backward.default, padded, input, sides),
        ),
        "max_unpool3d": (
            partial(torch_aclnn.max_unpool3d_backward.default, volume, indices, (2, 2, 2), (2, 2, 2), (0, 0, 0)),
            None,
        ),
        "batch_norm_elemt": (
            partial(torch_aclnn.batch_norm_elemt_backward.default, *norm),
            partial(aten.batch_norm_backward_elemt.default, *norm),
        ),
    }


Layer = Callable[[Tensor], Tensor]


def layers() -> dict[str, tuple[tuple[int, ...], Layer, Layer]]:
    """Return, by operator, an input's shape and the function that it differentiates, ours and torch's own."""
    shape, volume = (4, 16, 32, 32), (1, 2, 8, 8, 8)
    indices = torch.arange(8 * 8 * 8).view(8, 8, 8).expand(volume).contiguous().to("npu")
    return {
        "avg_pool2d": (shape, partial(ours.avg_pool2d, kernel_size=2), partial(theirs.avg_pool2d, kernel_size=2)),
        "adaptive_avg_pool2d": (
            shape,
            partial(ours.adaptive_avg_pool2d, output_size=4),
            partial(theirs.adaptive_avg_pool2d, output_size=4),
        ),
        "replication_pad2d": (
            shape,
            partial(ours.replication_pad2d, padding=2),
            partial(theirs.pad, pad=(2, 2, 2, 2), mode="replicate"),
        ),
        "max_unpool3d": (
            volume,
            partial(ours.max_unpool3d, indices=indices, kernel_size=2),
            partial(theirs.max_unpool3d, indices=indices, kernel_size=(2, 2, 2)),
        ),
        "batch_norm_elemt": (
            shape,
            partial(ours.batch_norm, running_mean=None, running_var=None, training=True),
            partial(theirs.batch_norm, running_mean=None, running_var=None, training=True),
        ),
    }
