"""One call of an entry point: its arguments in memory and as handles, and its two phases."""

import math
from collections.abc import Mapping, Sequence
from ctypes import byref, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any

from support.dtypes import DType, pack, size_of, unpack
from support.operators import ENTRY_POINTS
from support.status import NULL
from support.tensors import Tensor

if TYPE_CHECKING:
    from support.client import Client


class Operand:
    """A tensor's handle and memory, with guard bytes before, behind and between the elements."""

    GUARD = 64
    GUARD_BYTE = b"\xa5"

    def __init__(self, client: "Client", tensor: Tensor) -> None:
        self.tensor, self._client = tensor, client
        self._size = size_of(tensor.dtype)
        # A tensor in memory of the test's own may have more elements than could be listed.
        self._positions = tensor.positions() if tensor.address is None or tensor.storage is None else []
        storage = tensor.storage if tensor.storage is not None else (max(self._positions, default=-1) + 1,)
        count = max(math.prod(storage), max(self._positions, default=0) + 1) if tensor.address is None else 0
        total = 2 * self.GUARD + count * self._size
        self._block: int | None = client.allocate(total)
        self._total = total
        client.acl.write(self._block, self.GUARD_BYTE * total)
        self.address = self._block + self.GUARD if tensor.address is None else tensor.address
        if tensor.values is not None:
            self.write(tensor.values)
        self.before = self.bytes()
        data = None if tensor.null_data else self.address
        self.handle = client.tensor(tensor, storage, data)

    def write(self, values: Sequence[Any]) -> None:
        assert len(values) == len(self._positions)
        for position, value in zip(self._positions, values, strict=True):
            packed = pack(DType(self.tensor.dtype), value)
            self._client.acl.write(self.address + position * self._size, packed)

    def elements(self) -> list[bytes]:
        first, end = min(self._positions, default=0), max(self._positions, default=-1) + 1
        memory = self._client.acl.read(self.address + first * self._size, (end - first) * self._size)
        places = [(position - first) * self._size for position in self._positions]
        return [memory[place : place + self._size] for place in places]

    def values(self) -> list[Any]:
        return [unpack(DType(self.tensor.dtype), element) for element in self.elements()]

    def bytes(self) -> bytes:
        assert self._block is not None
        return self._client.acl.read(self._block, self._total)

    def is_untouched(self) -> bool:
        return self.bytes() == self.before

    def is_untouched_around_its_elements(self) -> bool:
        now, before = bytearray(self.bytes()), bytearray(self.before)
        for position in self._positions:
            start = self.GUARD + position * self._size
            now[start : start + self._size] = before[start : start + self._size] = bytes(self._size)
        return now == before

    def destroy_handle(self) -> None:
        if self.handle is not None:
            self._client.destroy("Tensor", self.handle)
        self.handle = None

    def free_memory(self) -> None:
        if self._block is not None:
            self._client.free(self._block)
        self._block = None

    def close(self) -> None:
        self.destroy_handle()
        self.free_memory()


class Call:
    """The arguments of one call; they live as long as the `with` block."""

    def __init__(self, client: "Client", entry_point: str, arguments: Mapping[str, Any]) -> None:
        self._client, self.entry_point = client, entry_point
        self.arguments = {name: Operand(client, value) if isinstance(value, Tensor) else value for name, value in arguments.items()}
        self._arrays = {name: client.int_array(value) for name, value in arguments.items() if isinstance(value, tuple)}
        self.workspace_size, self.executor = c_uint64(), c_void_p()
        self._workspaces: list[int] = []

    def __getitem__(self, name: str) -> Operand:
        operand = self.arguments[name]
        assert isinstance(operand, Operand)
        return operand

    def operands(self) -> list[Operand]:
        return [value for value in self.arguments.values() if isinstance(value, Operand)]

    def output(self) -> Operand:
        return self[ENTRY_POINTS[self.entry_point].output]

    def _argument(self, name: str) -> Any:
        value = self.arguments.get(name)
        if isinstance(value, Operand):
            return value.handle
        return self._arrays[name] if isinstance(value, tuple) else value

    def phase1(self) -> int:
        """Call the first phase. `workspaceSize` and `executor` are null where the arguments say None."""
        results = {"workspaceSize": byref(self.workspace_size), "executor": byref(self.executor)}
        defaults = {name: pointer for name, pointer in results.items() if name not in self.arguments}
        arguments = [defaults.get(name) or self._argument(name) for name in ENTRY_POINTS[self.entry_point].parameters]
        return getattr(self._client.opapi, self.entry_point + "GetWorkspaceSize")(*arguments)

    def phase2(self, stream: int | None = None, workspace: int | None = None, size: int | None = None) -> int:
        """Call the second phase, which uses the executor up unless it reports a null pointer; by default with the workspace asked for."""
        if size is None:
            size = self.workspace_size.value
            workspace = self._client.allocate(size) if size else None
            self._workspaces += [workspace] if workspace else []
        code = getattr(self._client.opapi, self.entry_point)(workspace, size, self.executor, stream)
        if code != NULL:
            self.executor = c_void_p()
        return code

    def finish(self, stream: int | None = None) -> None:
        """Call the second phase, which must succeed, and wait for what it queued."""
        assert self.phase2(stream) == 0, self._client.message()
        assert self._client.acl.aclrtSynchronizeStream(stream) == 0, self._client.message()

    def destroy_handle(self, name: str) -> None:
        """Destroy one argument's handle, and leave its memory."""
        value = self.arguments[name]
        if isinstance(value, Operand):
            value.destroy_handle()
        else:
            self._client.destroy("IntArray", self._arrays.pop(name))

    def destroy_arguments(self) -> None:
        for operand in self.operands():
            operand.close()
        for array in self._arrays.values():
            self._client.destroy("IntArray", array)
        self._arrays = {}

    def __enter__(self) -> "Call":
        return self

    def __exit__(self, *_: object) -> None:
        if self.executor:
            self._client.destroy("AclOpExecutor", self.executor)
        for workspace in self._workspaces:
            self._client.free(workspace)
        self.destroy_arguments()
