"""A typed client of the operators' C interface. It needs neither torch nor pytest: a small process can use it too."""

import ctypes
import dataclasses
import math
import re
import struct
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_bool, c_char_p, c_float, c_int, c_int8, c_int64, c_size_t, c_uint64, c_void_p
from enum import IntEnum
from pathlib import Path
from typing import Any

NULL, INVALID, RUNTIME_ERROR = 161001, 161002, 361001


class DType(IntEnum):
    FLOAT = 0
    FLOAT16 = 1
    INT8 = 2
    INT32 = 3
    UINT8 = 4
    INT16 = 6
    UINT16 = 7
    UINT32 = 8
    INT64 = 9
    UINT64 = 10
    DOUBLE = 11
    BOOL = 12
    COMPLEX64 = 16
    COMPLEX128 = 17
    BF16 = 27


class Format(IntEnum):
    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    NCL = 47


PRIVATE_FORMATS = (Format.NC1HWC0, Format.FRACTAL_NZ, Format.NDC1HWC0)

PACKING = {
    DType.FLOAT: "<f", DType.FLOAT16: "<e", DType.INT8: "<b", DType.INT32: "<i", DType.UINT8: "<B", DType.INT16: "<h",
    DType.UINT16: "<H", DType.UINT32: "<I", DType.INT64: "<q", DType.UINT64: "<Q", DType.DOUBLE: "<d", DType.BOOL: "<?",
    DType.COMPLEX64: "<ff", DType.COMPLEX128: "<dd", DType.BF16: "<f",
}  # fmt: skip


def pack(dtype: DType, value: Any) -> bytes:
    """Round the number once to the type and return its bytes."""
    if dtype == DType.BF16:
        if value == 0 or not math.isfinite(value):
            return struct.pack("<f", value)[2:]
        mantissa, exponent = math.frexp(value)
        return struct.pack("<f", math.ldexp(round(mantissa * 256), exponent - 8))[2:]
    if dtype in (DType.COMPLEX64, DType.COMPLEX128):
        return struct.pack(PACKING[dtype], value.real, value.imag)
    return struct.pack(PACKING[dtype], value)


def unpack(dtype: DType, data: bytes) -> Any:
    numbers = struct.unpack(PACKING[dtype], b"\0\0" + data if dtype == DType.BF16 else data)
    return complex(*numbers) if len(numbers) == 2 else numbers[0]


def size_of(dtype: int) -> int:
    """Return the bytes of an element; 1 for what is no type."""
    return len(pack(DType(dtype), 0)) if dtype in DType.__members__.values() else 1


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor as a test describes it. Without values its memory is full of the guard byte."""

    shape: tuple[int, ...]
    dtype: int = DType.FLOAT
    values: Sequence[Any] | None = None
    strides: tuple[int, ...] | None = None  # None: a null pointer, which means contiguous
    offset: int = 0
    format: int | None = None  # None: what suits the rank
    storage: tuple[int, ...] | None = None  # None: just enough for the view
    null_data: bool = False
    address: int | None = None  # somebody else's memory, of which the test takes care

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
        """Return where in the storage the elements are, counted in elements."""
        positions = [self.offset]
        for size, stride in zip(self.shape, self.real_strides(), strict=True):
            positions = [start + i * stride for start in positions for i in range(size)]
        return positions

    def real_format(self) -> int:
        by_rank = {3: Format.NCL, 4: Format.NCHW, 5: Format.NCDHW}
        return by_rank.get(len(self.shape), Format.ND) if self.format is None else self.format


def int64s(values: Sequence[int] | None) -> Any:
    return None if values is None else (c_int64 * len(values))(*values)


class Operand:
    """A tensor's handle and memory, with guard bytes before, behind and between the elements."""

    GUARD = 64
    GUARD_BYTE = b"\xa5"

    def __init__(self, client: "Client", tensor: Tensor) -> None:
        self.tensor, self._client = tensor, client
        self._size = size_of(tensor.dtype)
        # A tensor in somebody else's memory may have more elements than could be listed.
        self._positions = tensor.positions() if tensor.address is None or tensor.storage is None else []
        storage = tensor.storage if tensor.storage is not None else (max(self._positions, default=-1) + 1,)
        count = max(math.prod(storage), max(self._positions, default=0) + 1) if tensor.address is None else 0
        total = 2 * self.GUARD + count * self._size
        self._block: int | None = client.allocate(total)
        self._buffer = (ctypes.c_uint8 * total).from_address(self._block)  # the engine's device memory can be read from here
        ctypes.memset(self._buffer, self.GUARD_BYTE[0], total)
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
            ctypes.memmove(self.address + position * self._size, packed, self._size)

    def elements(self) -> list[bytes]:
        return [ctypes.string_at(self.address + p * self._size, self._size) for p in self._positions]

    def values(self) -> list[Any]:
        return [unpack(DType(self.tensor.dtype), element) for element in self.elements()]

    def bytes(self) -> bytes:
        return bytes(self._buffer)

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


def scalar_type(name: str) -> Any:
    scalars = {"ceilMode": c_bool, "countIncludePad": c_bool, "divisorOverride": c_int64, "cubeMathType": c_int8}
    return scalars.get(name, c_void_p)


# The parameters of the first phases in the order of the C declarations; the output's name is the last but two.
PARAMETERS = {
    "aclnnAvgPool2dBackward": (
        "gradOutput", "self", "kernelSize", "stride", "padding", "ceilMode", "countIncludePad", "divisorOverride",
        "cubeMathType", "gradInput", "workspaceSize", "executor",
    ),
    "aclnnAdaptiveAvgPool2dBackward": ("gradOutput", "self", "out", "workspaceSize", "executor"),
    "aclnnReplicationPad2dBackward": ("gradOutput", "self", "padding", "gradInput", "workspaceSize", "executor"),
    "aclnnMaxUnpool3dBackward": (
        "gradOutput", "self", "indices", "outputSize", "stride", "padding", "out", "workspaceSize", "executor",
    ),
    "aclnnBatchNormElemtBackward": (
        "gradOut", "input", "mean", "invstd", "weight", "sumDy", "sumDyXmu", "counter", "gradInput", "workspaceSize",
        "executor",
    ),
}  # fmt: skip


class Call:
    """The arguments of one call; they live as long as the `with` block."""

    def __init__(self, client: "Client", entry_point: str, arguments: Mapping[str, Any]) -> None:
        self._client, self.entry_point = client, entry_point
        self.arguments = {name: Operand(client, value) if isinstance(value, Tensor) else value for name, value in arguments.items()}
        self._arrays = {name: client.int_array(value) for name, value in arguments.items() if isinstance(value, tuple)}
        self.workspace_size, self.executor = c_uint64(), c_void_p()

    def __getitem__(self, name: str) -> Operand:
        operand = self.arguments[name]
        assert isinstance(operand, Operand)
        return operand

    def operands(self) -> list[Operand]:
        return [value for value in self.arguments.values() if isinstance(value, Operand)]

    def output(self) -> Operand:
        return self[PARAMETERS[self.entry_point][-3]]

    def _argument(self, name: str) -> Any:
        value = self.arguments.get(name)
        if isinstance(value, Operand):
            return value.handle
        return self._arrays[name] if isinstance(value, tuple) else value

    def phase1(self) -> int:
        """Call the first phase. `workspaceSize` and `executor` are null where the arguments say None."""
        results = {"workspaceSize": byref(self.workspace_size), "executor": byref(self.executor)}
        defaults = {name: pointer for name, pointer in results.items() if name not in self.arguments}
        arguments = [defaults.get(name) or self._argument(name) for name in PARAMETERS[self.entry_point]]
        return getattr(self._client.opapi, self.entry_point + "GetWorkspaceSize")(*arguments)

    def phase2(self, stream: int | None = None, workspace: int | None = None, size: int = 0) -> int:
        """Call the second phase, which uses the executor up unless it reports a null pointer."""
        code = getattr(self._client.opapi, self.entry_point)(workspace, size, self.executor, stream)
        if code != NULL:
            self.executor = c_void_p()
        return code

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
        self.destroy_arguments()


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


class Client:
    """Both libraries, with the types of their functions and shorthands for what every test does."""

    def __init__(self, libdir: Path) -> None:
        self.acl = ctypes.CDLL(str(libdir / "libascendcl.so"))
        self.acl.aclGetRecentErrMsg.restype = c_char_p
        self.acl.aclrtSynchronizeStream.argtypes = [c_void_p]
        self.acl.aclrtMalloc.argtypes = [POINTER(c_void_p), c_size_t, c_int]
        self.acl.aclrtFree.argtypes = [c_void_p]
        self.opapi = ctypes.CDLL(str(libdir / "libopapi.so"))
        for name, argtypes in PROTOTYPES.items():
            getattr(self.opapi, name).argtypes = argtypes
            if name.startswith("aclCreate"):
                getattr(self.opapi, name).restype = c_void_p
        for entry_point, parameters in PARAMETERS.items():
            phase1, phase2 = (getattr(self.opapi, entry_point + suffix) for suffix in ("GetWorkspaceSize", ""))
            phase1.argtypes = [scalar_type(name) for name in parameters]
            phase2.argtypes = [c_void_p, c_uint64, c_void_p, c_void_p]

    def sentence(self) -> str:
        """Take the sentence of this thread's last refusal."""
        return self.acl.aclGetRecentErrMsg().decode()

    def allocate(self, size: int) -> int:
        """Return the address of that many bytes of device memory."""
        address = c_void_p()
        assert self.acl.aclrtMalloc(byref(address), size, 0) == 0, self.sentence()
        assert address.value is not None
        return address.value

    def free(self, address: int) -> None:
        assert self.acl.aclrtFree(address) == 0, self.sentence()

    def tensor(self, tensor: Tensor, storage: Sequence[int], data: int | None) -> int:
        dims, strides, storage_dims = int64s(tensor.shape), int64s(tensor.strides), int64s(storage)
        handle = self.opapi.aclCreateTensor(
            dims, len(tensor.shape), tensor.dtype, strides, tensor.offset, tensor.real_format(), storage_dims,
            len(storage), data,
        )  # fmt: skip
        assert handle is not None, self.sentence()
        return handle

    def int_array(self, values: Sequence[int]) -> int:
        handle = self.opapi.aclCreateIntArray(int64s(values), len(values))
        assert handle is not None, self.sentence()
        return handle

    def destroy(self, kind: str, handle: Any) -> None:
        assert getattr(self.opapi, "aclDestroy" + kind)(handle) == 0, self.sentence()

    def call(self, entry_point: str, arguments: Mapping[str, Any]) -> Call:
        return Call(self, entry_point, arguments)

    def run(self, entry_point: str, arguments: Mapping[str, Any], stream: int | None = None) -> list[bytes]:
        """Run both phases and return the output's elements, once nothing but them has changed."""
        with self.call(entry_point, arguments) as call:
            assert call.phase1() == 0, self.sentence()
            assert call.phase2(stream) == 0, self.sentence()
            assert self.acl.aclrtSynchronizeStream(stream) == 0, self.sentence()
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
            assert call.phase1() == 0, self.sentence()
            assert call.workspace_size.value == 0
            assert call.phase2(stream) == 0, self.sentence()
            assert self.acl.aclrtSynchronizeStream(stream) == 0, self.sentence()
            assert all(operand.is_untouched() for operand in call.operands())

    def refuses(self, entry_point: str, arguments: Mapping[str, Any], code: int, parameter: str, expected: str, got: str) -> None:
        """Call the first phase, which must refuse in the house form; `expected` and `got` are regular expressions."""
        with self.call(entry_point, arguments) as call:
            assert call.phase1() == code
            sentence = self.sentence()
            assert self.acl.aclrtPeekAtLastError(0) == 0
            assert not call.executor
            assert all(operand.is_untouched() for operand in call.operands())
        form = re.fullmatch(rf"{entry_point}: (.+?): expected (.+), got (.+)", sentence)
        assert form, sentence
        assert form[1] == parameter, sentence
        assert re.search(expected, form[2]), sentence
        assert re.search(got, form[3]), sentence
