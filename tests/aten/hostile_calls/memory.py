"""One piece of device memory in which each tensor of a call has a place of its own, and a look at all of it after the call."""

import ctypes
import math
from typing import Any

import numpy as np
from arguments import BoolArray, Handles, IntArray, Scalar, ScalarList, TensorList

from support.client import Client, int64s
from support.dtypes import PRIVATE_FORMATS, size_of
from support.tensors import Tensor

from .call import Call, Place, SameMemory, written

SIZE = 1 << 20
GAP = 64  # bytes between two tensors
LARGEST = 1 << 15  # elements; larger tensors are neither filled nor compared
HANDLE_OF = {kind: kind.__name__ for kind in (Scalar, IntArray, BoolArray, TensorList, ScalarList)}


def bytes_of(tensor: Tensor) -> np.ndarray | None:
    """Return where the bytes of a tensor's elements are, from that of offset 0 on, a row an element; None where there are too many."""
    size, sizes = size_of(tensor.dtype), [max(size, 0) for size in tensor.shape]
    if 0 in sizes:
        return np.empty((0, size), np.int64)
    if np.prod(sizes, dtype=np.float64) > LARGEST:
        return None
    if tensor.format in PRIVATE_FORMATS and 0 < math.prod(tensor.storage or ()) <= LARGEST:
        return np.arange(math.prod(tensor.storage or ()) * size).reshape(-1, size)
    strides = tensor.real_strides()
    ends = [(length - 1) * stride for length, stride in zip(sizes, strides, strict=True)]
    if tensor.offset + sum(end for end in ends if end < 0) < 0 or tensor.offset + sum(end for end in ends if end > 0) >= LARGEST:
        return None
    positions = np.array([tensor.offset])
    for length, stride in zip(sizes, strides, strict=True):
        positions = np.add.outer(positions, np.arange(length) * stride if length > 1 else np.zeros(1, np.int64)).reshape(-1)
    return positions[:, None] * size + np.arange(size)


class Memory:
    """The memory, and the handles of one call's arguments at a time."""

    def __init__(self, client: Client) -> None:
        self._client, self._handles_of_others = client, Handles(client, 0)
        self._base = client.allocate(SIZE)

    def begin(self, call: Call, guard: int, fill: int) -> list[Any]:
        """Return the handles of the arguments; outputs are full of the byte `fill`, and all around the tensors is `guard`."""
        self._handles: list[tuple[str, int]] = []
        self._places: dict[Place, tuple[int, np.ndarray | None]] = {}
        self._image = np.full(SIZE, guard, np.uint8)
        self._end = GAP
        self._call, self._fill = call, fill
        self._kinds = {parameter.name: parameter.kind for parameter in call.entry_point.parameters}
        self._written = written(call.entry_point)
        handles = [self._handle(p.name, value) for p, value in zip(call.entry_point.parameters, call.arguments.values(), strict=True)]
        self._end = min(self._end + 4096, SIZE)
        self._client.acl.write(self._base, self._image[: self._end].tobytes())
        return handles

    def end(self) -> None:
        """Destroy the handles."""
        for kind, handle in self._handles:
            self._client.destroy(kind, handle)

    def look(self) -> None:
        """Read what the memory is now."""
        self.found = np.frombuffer(self._client.acl.read(self._base, self._end), np.uint8)

    def changed(self, *, any_written: bool) -> str:
        """Return where bytes have changed that the call may not write; an empty text if nowhere."""
        differs = self.found != self._image[: self._end]
        for place, (begin, where) in self._places.items() if any_written else ():
            if where is not None and self.is_written(place):
                differs[begin + where] = False
        if not differs.any():
            return ""
        first = int(differs.argmax())
        near = max(
            (place for place, (begin, _) in self._places.items() if begin <= first), key=lambda place: self._places[place][0], default=None
        )
        begin, where = self._places.get(near, (0, None))
        is_element = where is not None and first - begin in where
        return f"{int(differs.sum())} bytes, the first {first - begin} behind the begin of {near}{', an element' if is_element else ''}"

    def is_written(self, place: Place) -> bool:
        """Return whether the call may write the tensor."""
        return place.parameter in self._written

    def elements(self, place: Place) -> bytes:
        """Return the bytes of a tensor's elements."""
        begin, where = self._places[place]
        return b"" if where is None else self.found[begin + where].tobytes()

    def written(self) -> list[Place]:
        return [place for place, (_, where) in self._places.items() if where is not None and self.is_written(place)]

    def _handle(self, name: str, value: Any) -> Any:
        if isinstance(value, SameMemory):
            handle = self._tensor(Place(name, 0), value.tensor, self._places.get(Place(value.parameter, 0)))
        elif isinstance(value, Tensor):
            handle = self._tensor(Place(name, 0), value)
        elif isinstance(value, TensorList):
            members = [m and self._tensor(Place(name, i), m) for i, m in enumerate(value.members)]
            # The list takes its members over.
            handle = self._client.opapi.aclCreateTensorList((ctypes.c_void_p * len(members))(*members), len(members))
        elif value is None or isinstance(value, ctypes._SimpleCData):
            return value
        else:
            handle = self._handles_of_others.make(value)
        if handle is not None:
            self._handles.append((HANDLE_OF.get(type(value), "Tensor"), handle))
        return ctypes.c_void_p(handle)

    def _tensor(self, place: Place, tensor: Tensor, shared: tuple[int, np.ndarray | None] | None = None) -> Any:
        where = bytes_of(tensor)
        length = 0 if where is None else int(where.max(initial=-1)) + 1
        begin = self._end if shared is None else shared[0]
        if where is None or begin + length + 4096 > SIZE:
            where, length, begin = None, GAP, SIZE - GAP  # a tensor that does not fit goes beyond the allocation
        else:
            self._end = max(self._end, begin + -(-length // GAP) * GAP + GAP)
        if shared is None and where is not None:
            self._put(place, begin + where)
        self._places[place] = begin, where
        size = size_of(tensor.dtype)
        storage = tensor.storage or (-(-length // size),)
        return self._create(tensor, storage, None if tensor.null_data else self._base + begin)

    def _put(self, place: Place, where: np.ndarray) -> None:
        if self._kinds[place.parameter] in ("Out", "OptOut"):
            self._image[where] = self._fill
            return
        pattern = np.frombuffer(self._call.contents.get(place, b"\0"), np.uint8)
        self._image[where] = np.resize(pattern, where.shape)

    def _create(self, tensor: Tensor, storage: tuple[int, ...], data: int | None) -> Any:
        return self._client.opapi.aclCreateTensor(
            *(int64s(tensor.shape), len(tensor.shape), int(tensor.dtype), int64s(tensor.strides), tensor.offset, tensor.real_format()),
            *(int64s(storage), len(storage), data),
        )
