"""Calls with one change each: an input of another shape or data type, or full of integers that may be no positions."""

import re
import struct
from collections.abc import Iterator
from typing import Any

from arguments import TensorList
from sound_calls import of_dtype, sound_arguments
from torch_aclnn.host.registry import EntryPoint

from support.dtypes import DType
from support.tensors import Tensor

from .call import ENTRY_POINTS, Call, Place

INTEGERS = {DType.INT64: "q", DType.INT32: "i"}
VALUES = (-1, 2, 10_000_000)  # positions of TENSOR are 0 and 1 along a dimension
# Refusals for elements of tensors, which come in phase 2, also where all elements are zero. All others come in phase 1.
OF_VALUES = re.compile(
    r"values (in \[|that|with the sum|other than 0)|out of (range|bounds)|singular|multinomial|chosen tokens"
    r"|of all ranks|communicator was lost|must be between|numbers with the sum|roundMode: expected|at least one copy|positive-definite"
    r"|aclnnIndex: out: expected the result's shape|aclnnIndexPutImpl: .* indexing result"  # a mask chooses too few
    r"|a communicator with windows"  # whether its ranks have registered windows
)


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


def calls_of_other_tensors(entry_point: EntryPoint, sound: dict[str, Any]) -> Iterator[Call]:
    for parameter in entry_point.parameters:
        given = sound[parameter.name]
        if parameter.kind in ("Out", "OptOut", "Packed") or not isinstance(given, (Tensor, TensorList)):
            continue
        for changed, content in changes(given if isinstance(given, Tensor) else given.members[0]):
            call = Call(entry_point, dict(sound), {Place(parameter.name, 0): content})
            call.replace(Place(parameter.name, 0), changed)
            yield call


def calls_of_other_types(entry_point: EntryPoint, sound: dict[str, Any]) -> Iterator[Call]:
    """Yield calls in which one parameter has another data type, or all of those that have the first one's."""
    types = {place.parameter: tensor.dtype for place, tensor in reversed(Call(entry_point, sound).tensors().items())}
    if not types:
        return
    first = list(types.values())[-1]
    alike = [name for name, dtype in types.items() if dtype == first]
    for dtype in DType:
        for names in (alike, *([name] for name in types)):
            yield Call(entry_point, sound | {name: of_dtype(sound[name], dtype) for name in names})


def calls() -> list[Call]:
    """Return the calls of all entry points."""
    made = ((entry_point, sound_arguments(entry_point)) for entry_point in ENTRY_POINTS)
    return [call for of_one in made for generate in (calls_of_other_tensors, calls_of_other_types) for call in generate(*of_one)]


def is_late(call: Call, message: str) -> bool:
    """Return whether phase 1 could have told the failure: it is not for what the tensors are full of."""
    return not any(any(content) for content in call.contents.values()) and OF_VALUES.search(message) is None
