"""The same values in other places of memory."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
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


def in_every_layout(cases: Sequence[Any], dtypes: Sequence[torch.dtype]) -> pytest.MarkDecorator:
    """Parametrise a test by device, case, dtype and layout: all on cpu, and on npu, where the same kernels run, each of them once."""

    def combinations() -> Iterator[Any]:
        for case, size in enumerate(cases):
            for dtype in dtypes:
                for layout in LAYOUTS:
                    name = f"{case}-{str(dtype).removeprefix('torch.')}-{layout.__name__}"
                    yield pytest.param("cpu", size, dtype, layout, id=f"cpu-{name}")
                    if (case > 0) + (dtype != dtypes[0]) + (layout != LAYOUTS[0]) <= 1:
                        yield pytest.param("npu", size, dtype, layout, id=f"npu-{name}")

    return pytest.mark.parametrize(("device", "case", "dtype", "layout"), list(combinations()))
