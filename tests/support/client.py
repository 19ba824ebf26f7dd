"""A client of the C interface: the runtime and the operators. It needs neither torch nor pytest: a small process can use it too."""

import re
from collections.abc import Mapping, Sequence
from ctypes import c_int64, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from support.call import Call
from support.library import Library
from support.operators import ENTRY_POINTS
from support.runtime import Runtime
from support.tensors import Tensor


def int64s(values: Sequence[int] | None) -> Any:
    return None if values is None else (c_int64 * len(values))(*values)


class Client:
    """Both libraries, with the types of their functions and shorthands for what every test does."""

    def __init__(self, libdir: Path) -> None:
        self.acl = Runtime(str(libdir / "libascendcl.so"))
        self.opapi = Library(str(libdir / "libopapi.so"))
        for name, entry_point in ENTRY_POINTS.items():
            getattr(self.opapi, name + "GetWorkspaceSize").argtypes = entry_point.argtypes()
            getattr(self.opapi, name).argtypes = [c_void_p, c_uint64, c_void_p, c_void_p]

    def message(self) -> str:
        """Return the message of this thread's last error, and clear it."""
        return self.acl.message()

    def allocate(self, size: int) -> int:
        """Return the address of that many bytes of device memory."""
        return self.acl.create("aclrtMalloc", size, 0)

    def free(self, address: int) -> None:
        self.acl.ok("aclrtFree", address)

    def tensor(self, tensor: Tensor, storage: Sequence[int], data: int | None) -> int:
        dims, strides, storage_dims = int64s(tensor.shape), int64s(tensor.strides), int64s(storage)
        handle = self.opapi.aclCreateTensor(
            dims, len(tensor.shape), tensor.dtype, strides, tensor.offset, tensor.real_format(), storage_dims,
            len(storage), data,
        )  # fmt: skip
        assert handle is not None, self.message()
        return handle

    def int_array(self, values: Sequence[int]) -> int:
        handle = self.opapi.aclCreateIntArray(int64s(values), len(values))
        assert handle is not None, self.message()
        return handle

    def destroy(self, kind: str, handle: Any) -> None:
        assert getattr(self.opapi, "aclDestroy" + kind)(handle) == 0, self.message()

    def call(self, entry_point: str, arguments: Mapping[str, Any]) -> Call:
        return Call(self, entry_point, arguments)

    def prepared(self, entry_point: str, arguments: Mapping[str, Any]) -> Call:
        """Return a call whose first phase has succeeded."""
        call = self.call(entry_point, arguments)
        assert call.phase1() == 0, self.message()
        return call

    def run(self, entry_point: str, arguments: Mapping[str, Any], stream: int | None = None) -> list[bytes]:
        """Run both phases and return the output's elements, once nothing but them has changed."""
        with self.prepared(entry_point, arguments) as call:
            call.finish(stream)
            for operand in call.operands():
                if operand is call.output():
                    assert operand.is_untouched_around_its_elements()
                else:
                    assert operand.is_untouched()
            return call.output().elements()

    def writes_nothing(self, entry_point: str, arguments: Mapping[str, Any], stream: int | None = None) -> None:
        """Run both phases, which must succeed without a workspace and leave all memory alone."""
        with self.call(entry_point, arguments) as call:
            call.workspace_size.value = 1
            assert call.phase1() == 0, self.message()
            assert call.workspace_size.value == 0
            call.finish(stream)
            assert all(operand.is_untouched() for operand in call.operands())

    def refuses(self, entry_point: str, arguments: Mapping[str, Any], code: int, parameter: str, expected: str, got: str) -> None:
        """Call the first phase, which must refuse with the usual form of message; `expected` and `got` are regular expressions."""
        with self.call(entry_point, arguments) as call:
            assert call.phase1() == code
            message = self.message()
            assert self.acl.aclrtPeekAtLastError(0) == 0
            assert not call.executor
            assert all(operand.is_untouched() for operand in call.operands())
        form = re.fullmatch(rf"{entry_point}: (.+?): expected (.+), got (.+)", message)
        assert form, message
        assert form[1] == parameter, message
        assert re.search(expected, form[2]), message
        assert re.search(got, form[3]), message
