"""The same values in other places of memory."""

from collections.abc import Callable

import torch
from torch import Tensor


def contiguous(x: Tensor) -> Tensor:
    return x.contiguous()


def transposed(x: Tensor) -> Tensor:
    """The last two dimensions swapped in memory."""
    return x.transpose(-1, -2).contiguous().transpose(-1, -2)


def offset_and_gaps(x: Tensor) -> Tensor:
    """Every second element of a larger tensor, which starts behind its storage's first element."""
    larger = torch.full((*x.shape[:-1], 2 * x.shape[-1] + 3), -77, dtype=x.dtype, device=x.device)
    larger[..., 3::2] = x
    return larger[..., 3::2]


def channels_last(x: Tensor) -> Tensor:
    """The channels (of a batched tensor) or the first dimension innermost."""
    channel = max(x.dim() - 3, 0) if x.dim() < 5 else 1
    return x.movedim(channel, -1).contiguous().movedim(-1, channel)


LAYOUTS: tuple[Callable[[Tensor], Tensor], ...] = (contiguous, transposed, offset_and_gaps, channels_last)
