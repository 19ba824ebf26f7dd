"""A case: a name, the tensors, and the functions that compute its gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_aclnn._operators import Operator


@dataclass(frozen=True)
class Work:
    """The tensors of a case. `ours` and `aten` write into `out`; `formula(*inputs)` returns a new tensor, for inductor and as reference."""

    inputs: tuple[Tensor, ...]
    out: Tensor
    bytes: int
    ours: Callable[[], Any]
    aten: Callable[[], Any]
    formula: Callable[..., Tensor]


@dataclass(frozen=True, kw_only=True)
class Case:
    """An operator's arguments, with the shape, dtype and layout of the forward's input (of the output, for an unpooling)."""

    operator: Operator
    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    channels_last: bool = False
    quick: bool = False

    @property
    def name(self) -> str:
        """Operator, dtype, shape, arguments and layout, separated by spaces."""
        parts = (self.operator.name, dtype_name(self.dtype), times(self.shape), *self.details(), "channels_last" * self.channels_last)
        return " ".join(filter(None, parts))

    @property
    def plane_dims(self) -> int:
        """The dimensions behind those of samples and channels; for batch norm those of an image."""
        return self.operator.dims or 2

    @property
    def group(self) -> str:
        """The cases over which a geometric mean is taken."""
        return self.operator.name

    def details(self) -> tuple[str, ...]:
        """Return the operator's arguments, as they are written in the name."""
        return ()

    def work(self) -> Work:
        """Make the tensors, with the same values each time."""
        raise NotImplementedError

    def randn(self, shape: tuple[int, ...], dtype: torch.dtype | None = None, seed: int = 0) -> Tensor:
        """Return normally distributed values in the case's layout and, by default, dtype."""
        values = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype or self.dtype)
        return values.contiguous(memory_format=self.memory_format)

    @property
    def memory_format(self) -> torch.memory_format:
        """The layout of the case's large tensors."""
        if not self.channels_last:
            return torch.contiguous_format
        return torch.channels_last_3d if len(self.shape) == 5 else torch.channels_last


def dtype_name(dtype: torch.dtype) -> str:
    """Return the dtype without the module, such as bfloat16."""
    return str(dtype).removeprefix("torch.")


def times(sizes: tuple[int, ...]) -> str:
    """Return sizes as 2x3x4."""
    return "x".join(map(str, sizes))
