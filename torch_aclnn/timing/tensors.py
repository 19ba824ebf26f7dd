"""The tensors of a launch, as a trace has them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_BYTES = {
    **dict.fromkeys(("DOUBLE", "INT64", "UINT64", "COMPLEX64"), 8.0),
    **dict.fromkeys(("FLOAT", "INT32", "UINT32"), 4.0),
    **dict.fromkeys(("FLOAT16", "BF16", "INT16", "UINT16"), 2.0),
    **dict.fromkeys(("INT4", "FLOAT4_E2M1", "FLOAT4_E1M2"), 0.5),
    "COMPLEX128": 16.0,
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a launch."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def width(self) -> int:
        """The length of the last dimension."""
        return self.shape[-1] if self.shape else 1

    @property
    def rows(self) -> float:
        """How many vectors of that length there are."""
        return self.elements / max(self.width, 1)

    @property
    def bytes(self) -> float:
        """The size in bytes."""
        return self.elements * _BYTES.get(self.dtype, 1.0)


def tensors_of(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of an argument, which may be a list."""
    if isinstance(value, dict) and "shape" in value:
        yield Tensor(tuple(value["shape"]), value["dtype"])
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, dict):
                yield from tensors_of(one)
