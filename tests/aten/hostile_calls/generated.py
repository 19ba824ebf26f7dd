"""Each input in other shapes, and full of integers that may be no positions, one change at a time."""

import struct
from collections.abc import Iterator

from arguments import TensorList
from sound_calls import sound_arguments
from torch_aclnn.host.registry import EntryPoint

from support.dtypes import DType
from support.tensors import Tensor

from .call import ENTRY_POINTS, Call, Place

INTEGERS = {DType.INT64: "q", DType.INT32: "i"}
VALUES = (-1, 2, 10_000_000)  # positions of TENSOR are 0 and 1 along a dimension


def smaller(tensor: Tensor) -> Iterator[Tensor]:
    """Yield the tensor with one index less in each dimension, with none, and without its first dimension."""
    for d, size in enumerate(tensor.shape):
        for fewer in {max(size - 1, 0), 0}:
            yield tensor.but(shape=(*tensor.shape[:d], fewer, *tensor.shape[d + 1 :]))
    if tensor.shape:
        yield tensor.but(shape=tensor.shape[1:])


def changes(given: Tensor) -> Iterator[tuple[Tensor, bytes]]:
    """Yield a tensor in another form, and what it is full of."""
    yield from ((tensor, b"\0") for tensor in smaller(given))
    for dtype, code in INTEGERS.items():
        top = 1 << (8 * struct.calcsize(code) - 1)
        yield from ((given.but(dtype=dtype), struct.pack(f"<{code}", value)) for value in (*VALUES, -top, top - 1))


def calls_of(entry_point: EntryPoint) -> Iterator[Call]:
    sound = sound_arguments(entry_point)
    for parameter in entry_point.parameters:
        given = sound[parameter.name]
        if parameter.kind in ("Out", "OptOut", "Packed") or not isinstance(given, (Tensor, TensorList)):
            continue
        for changed, content in changes(given if isinstance(given, Tensor) else given.members[0]):
            call = Call(entry_point, dict(sound), {Place(parameter.name, 0): content})
            call.replace(Place(parameter.name, 0), changed)
            yield call


def calls() -> list[Call]:
    """Return the calls of all entry points."""
    return [call for entry_point in ENTRY_POINTS for call in calls_of(entry_point)]
