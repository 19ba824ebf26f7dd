"""Calls that a seed and a number make: a sound call of some entry point in other sizes, types and layouts, with hostile changes."""

import re
from random import Random
from typing import Any

from arguments import IntArray, TensorList
from sound_calls import misshapen, sound_arguments, sound_value
from torch_aclnn.host.registry import EntryPoint

from support.dtypes import DType
from support.tensors import Tensor

from .call import ENTRY_POINTS, Call, Place, SameMemory
from .changes import another_layout, content_of, hostile

# Names of tensors that hold positions or truth values, which torch's kernels take from other types only.
WHOLE = re.compile(
    r"ind(ex|ices)|label|target|offset|mask|ids|idx|count|expert|slot|cond|lens?$|seq|token|group|map|table|step|inf$|tracker", re.I
)
WHOLE_TYPES = (DType.INT64, DType.INT32, DType.BOOL, DType.INT8, DType.UINT8)


def with_sizes(value: Any, sizes: dict[int, int], in_arrays: bool) -> Any:
    """Return the value with other sizes in the place of its own."""
    if isinstance(value, Tensor):
        return value.but(shape=tuple(sizes.get(size, size) for size in value.shape))
    if isinstance(value, TensorList):
        return TensorList(tuple(member and with_sizes(member, sizes, in_arrays) for member in value.members))
    if isinstance(value, IntArray) and in_arrays:
        return IntArray(tuple(sizes.get(size, size) for size in value.values))
    return value


class Draw:
    """What one call is drawn from."""

    def __init__(self, seed: int, number: int | str) -> None:
        self._rng = Random(f"{seed}:{number}")

    def call(self) -> Call:
        rng = self._rng
        entry_point = rng.choice(ENTRY_POINTS)
        call = self.variant(entry_point)
        if rng.random() < 0.4:
            for place, tensor in call.tensors().items():
                if rng.random() < 0.6:
                    call.replace(place, another_layout(rng, tensor))
        for _ in range(rng.choices((0, 1, 2, 3), (35, 35, 20, 10))[0]):
            parameter = rng.choice(entry_point.parameters)
            call.arguments[parameter.name] = hostile(rng, parameter.kind, call.arguments[parameter.name])
        if rng.random() < 0.03 and call.tensors():
            self._share_memory(call)
        call.contents.update({place: content_of(rng, tensor) for place, tensor in call.tensors().items()})
        return call

    def variant(self, entry_point: EntryPoint) -> Call:
        """Return a sound call with other sizes and data types."""
        call = Call(entry_point, dict(sound_arguments(entry_point)))
        self._give_optional(call)
        if self._rng.random() < 0.6:
            self._resize(call)
        self._retype(call)
        return call

    def fitted(self, call: Call, message: str) -> bool:
        """Give the tensor that phase 1 refuses the shape that it expects; False: the message is of something else, or it is left."""
        refused = misshapen(message)
        if refused is None or self._rng.random() < 0.2:
            return False
        for place, tensor in call.tensors().items():
            if (place.parameter, tensor.shape) == refused[:2]:
                call.replace(place, tensor.but(shape=refused.expected, strides=None, storage=None, offset=0))
                return True
        return False

    def _give_optional(self, call: Call) -> None:
        for parameter in call.entry_point.parameters:
            if call.arguments[parameter.name] is None and self._rng.random() < 0.3:
                call.arguments[parameter.name] = sound_value(call.entry_point, parameter.name)

    def _resize(self, call: Call) -> None:
        rng = self._rng
        sizes = {size: rng.choice((0, 1, 2, 3, 4, 5, 6, 8, 17)) for size in rng.choice(((2,), (2,), (1, 2), (1, 2, 4, 8)))}
        in_arrays = rng.random() < 0.5
        call.arguments.update({name: with_sizes(value, sizes, in_arrays) for name, value in call.arguments.items()})

    def _retype(self, call: Call) -> None:
        rng, tensors = self._rng, call.tensors()
        if not tensors:
            return
        first = next(iter(tensors.values())).dtype
        other = rng.choice(sorted(call.entry_point.data_types & set(DType)) or [first]) if rng.random() < 0.4 else first
        for place, tensor in tensors.items():
            if WHOLE.search(place.parameter) and rng.random() < 0.7:
                call.replace(place, tensor.but(dtype=rng.choices(WHOLE_TYPES, (4, 3, 2, 1, 1))[0]))
            elif tensor.dtype == first and rng.random() < 0.95:
                call.replace(place, tensor.but(dtype=other))

    def _share_memory(self, call: Call) -> None:
        places = list(call.tensors())
        first, second = self._rng.choice(places), self._rng.choice(places)
        tensors = call.tensors()
        if first.parameter != second.parameter and isinstance(call.arguments[second.parameter], Tensor):
            order = list(call.arguments)
            if order.index(first.parameter) < order.index(second.parameter) and isinstance(call.arguments[first.parameter], Tensor):
                call.arguments[second.parameter] = SameMemory(first.parameter, tensors[Place(second.parameter, 0)])
