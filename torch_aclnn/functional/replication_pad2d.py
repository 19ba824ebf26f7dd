"""Padding by the values at the edges."""

from collections.abc import Sequence
from typing import Any

import torch
from torch_aclnn import _C
from torch import Tensor
from torch_aclnn.autograd.replication_pad2d import ReplicationPad2d
from torch_aclnn.functional import _arguments

__all__ = ["replication_pad2d"]


def replication_pad2d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Repeat the edges, as ``torch.nn.functional.pad(..., mode="replicate")``; the gradient is ``aclnnReplicationPad2dBackward``.

    The operator takes left and right from 0 and below W, top and bottom from 0 and below H. Beyond that it is torch's own function.

    Args:
        input: (N, C, H, W) or (C, H, W); float16, bfloat16, float32, float64, complex64, complex128.
        padding: (left, right, top, bottom), or one number for all; a negative number crops.

    Returns:
        (N, C, H + top + bottom, W + left + right), or without N.

    Raises:
        TypeError: an argument of another type.
        ValueError: a rank other than 3 or 4, or a padded size below 1.

    Example:
        >>> torch_aclnn.functional.replication_pad2d(torch.tensor([[[1.0, 2.0]]]), (1, 1, 0, 0))
        tensor([[[1., 1., 2., 2.]]])

    """
    if not torch.compiler.is_compiling():
        result = _C.replication_pad2d(input, padding)
        if result is not NotImplemented:
            return result
    name = "replication_pad2d"
    _arguments.tensor(name, "input", input, (3, 4))
    pad = left, right, top, bottom = _arguments.edge_padding(name, "padding", padding, input)
    height, width = input.shape[-2:]
    within_limits = min(pad) >= 0 and left < width and right < width and top < height and bottom < height
    run = _arguments.ours_or_torchs(name, ReplicationPad2d.call, ReplicationPad2d.forward, within_limits, input)
    return run(input, pad)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Be :func:`torch.nn.functional.pad` where it repeats the edges of an image; NotImplemented for everything else."""
    if mode == "replicate" and value is None and isinstance(pad, Sequence) and len(pad) == 4:
        return replication_pad2d(input, pad)
    return NotImplemented
