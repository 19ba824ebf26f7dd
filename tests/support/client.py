"""A client of the C interface: the runtime and the operators. It needs neither torch nor pytest: a small process can use it too."""

import ctypes
import re
from collections.abc import Mapping, Sequence
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from support.call import Call
from support.operators import ENTRY_POINTS
from support.runtime import Runtime
from support.tensors import Tensor

PROTOTYPES: dict[str, list[Any]] = {
    "aclCreateTensor": [
        POINTER(c_int64), c_uint64, c_int, POINTER(c_int64), c_int64, c_int, POINTER(c_int64), c_uint64, c_void_p,
    ],
    "aclCreateScalar": [c_void_p, c_int],
    "aclCreateIntArray": [POINTER(c_int64), c_uint64],
    "aclCreateFloatArray": [POINTER(c_float), c_uint64],
    "aclCreateBoolArray": [POINTER(c_bool), c_uint64],
    "aclCreateTensorList": [POINTER(c_void_p), c_uint64],
    "aclCreateScalarList": [POINTER(c_void_p), c_uint64],
    **{f"aclDestroy{kind}": [c_void_p] for kind in (
        "Tensor", "Scalar", "IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList", "AclOpExecutor")},
    **{f"aclGet{what}": [c_void_p, POINTER(POINTER(c_int64)), POINTER(c_uint64)] for what in (
        "ViewShape", "StorageShape", "ViewStrides")},
    **{f"aclGet{kind}Size": [c_void_p, POINTER(c_uint64)] for kind in (
        "IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList")},
    "aclGetViewOffset": [c_void_p, POINTER(c_int64)],
    "aclGetFormat": [c_void_p, POINTER(c_int)],
    "aclGetDataType": [c_void_p, POINTER(c_int)],
    "aclSetAclOpExecutorRepeatable": [c_void_p],
    **{f"aclSet{which}TensorAddr": [c_void_p, c_size_t, c_void_p, c_void_p] for which in ("", "Input", "Output")},
    "aclnnInit": [c_char_p],
    "aclnnFinalize": [],
}  # fmt: skip


def int64s(values: Sequence[int] | None) -> Any:
    return None if values is None else (c_int64 * len(values))(*values)


class Client:
    """Both libraries, with the types of their functions and shorthands for what every test does."""

    def __init__(self, libdir: Path) -> None:
        self.acl = Runtime(str(libdir / "libascendcl.so"))
        self.opapi = ctypes.CDLL(str(libdir / "libopapi.so"))
        for name, argtypes in PROTOTYPES.items():
            getattr(self.opapi, name).argtypes = argtypes
            if name.startswith("aclCreate"):
                getattr(self.opapi, name).restype = c_void_p
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

    def run(self, entry_point: str, arguments: Mapping[str, Any], stream: int | None = None) -> list[bytes]:
        """Run both phases and return the output's elements, once nothing but them has changed."""
        with self.call(entry_point, arguments) as call:
            assert call.phase1() == 0, self.message()
            assert call.phase2(stream) == 0, self.message()
            assert self.acl.aclrtSynchronizeStream(stream) == 0, self.message()
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
            assert call.phase2(stream) == 0, self.message()
            assert self.acl.aclrtSynchronizeStream(stream) == 0, self.message()
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
