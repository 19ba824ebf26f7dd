"""Tensors of the C interface as a test describes them, and ways to change those of a call."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from support.dtypes import PRIVATE_FORMATS, DType, Format


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor as a test describes it. Without values its memory is full of the guard byte."""

    shape: tuple[int, ...]
    dtype: int = DType.FLOAT
    values: Sequence[Any] | None = None
    strides: tuple[int, ...] | None = None  # None: a null pointer, which means contiguous
    offset: int = 0
    format: int | None = None  # None: the usual format for the rank
    storage: tuple[int, ...] | None = None  # None: just enough for the view
    null_data: bool = False
    address: int | None = None  # memory that the test itself allocates and frees

    def but(self, **changes: Any) -> "Tensor":
        return dataclasses.replace(self, **changes)

    def laid_out(self, order: Sequence[int] | None = None, step: int = 1, offset: int = 0) -> "Tensor":
        """Return the tensor with its dimensions in memory in this order (outermost first), `step` elements apart."""
        strides = [0] * len(self.shape)
        for d in reversed(order or range(len(self.shape))):
            strides[d] = step
            step *= self.shape[d]
        return self.but(strides=tuple(strides), offset=offset)

    def real_strides(self) -> tuple[int, ...]:
        if self.strides is not None:
            return self.strides
        return tuple(math.prod(self.shape[d + 1 :]) for d in range(len(self.shape)))

    def positions(self) -> list[int]:
        """Return where in the storage the elements are, counted in elements; all of a private format's, of which some fill blocks up."""
        if self.storage is not None and self.format in PRIVATE_FORMATS:
            return list(range(math.prod(self.storage)))
        positions = [self.offset]
        for size, stride in zip(self.shape, self.real_strides(), strict=True):
            positions = [start + i * stride for start in positions for i in range(size)]
        return positions

    def real_format(self) -> int:
        by_rank = {3: Format.NCL, 4: Format.NCHW, 5: Format.NCDHW}
        return by_rank.get(len(self.shape), Format.ND) if self.format is None else self.format


def but(arguments: Mapping[str, Any], /, **changes: Any) -> dict[str, Any]:
    """Return the arguments with some changed; a dict changes some fields of a tensor."""
    changed = dict(arguments)
    for name, value in changes.items():
        changed[name] = arguments[name].but(**value) if isinstance(value, dict) else value
    return changed


def tensors_of(arguments: Mapping[str, Any], /) -> dict[str, Tensor]:
    return {name: value for name, value in arguments.items() if isinstance(value, Tensor)}


def every_tensor(arguments: Mapping[str, Any], /, *, except_for: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    """Return changes for `but` that give all tensors the same fields."""
    return {name: fields for name in tensors_of(arguments) if name not in except_for}


# Layouts of a tensor of rank 4, for tests of strided tensors.
LAYOUTS: dict[str, dict[str, Any]] = {
    "offset": {"offset": 5},
    "channels last": {"order": (0, 2, 3, 1), "offset": 3},
    "transposed with gaps": {"order": (3, 1, 0, 2), "step": 3, "offset": 2},
}
