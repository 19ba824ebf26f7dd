"""Calls of operators by name through the C interface, with tensors that are torch's."""

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import c_float, c_int64, c_void_p
from dataclasses import dataclass
from typing import Any

import torch

from support.dtypes import DType, Format
from support.runtime import Runtime

DATA_TYPES = {
    torch.float32: DType.FLOAT, torch.float16: DType.FLOAT16, torch.bfloat16: DType.BF16, torch.float64: DType.DOUBLE,
    torch.int8: DType.INT8, torch.uint8: DType.UINT8, torch.int16: DType.INT16, torch.uint16: DType.UINT16,
    torch.int32: DType.INT32, torch.uint32: DType.UINT32, torch.int64: DType.INT64, torch.uint64: DType.UINT64,
    torch.bool: DType.BOOL, torch.complex64: DType.COMPLEX64, torch.complex128: DType.COMPLEX128,
}  # fmt: skip
GUARD = b"\xa5" * 64


def int64s(values: Sequence[int]) -> Any:
    return (c_int64 * len(values))(*values)


@dataclass
class Stored:
    """A tensor as it lies in memory. In a private format the operator sees another shape, in a plain format."""

    storage: torch.Tensor
    format: int = Format.ND
    sizes: Sequence[int] | None = None
    plain_format: int = Format.ND
    on_host: bool = False


class Argument:
    """The description and the memory of a tensor, or of one that is not given."""

    def __init__(self, acl: Runtime, given: Stored | torch.Tensor | None) -> None:
        self._acl = acl
        self.stored = Stored(given) if isinstance(given, torch.Tensor) else given
        self._block: int | None = None
        if self.stored is None:
            self.desc = acl.aclCreateTensorDesc(-1, 0, None, Format.UNDEFINED)
            self.buffer = acl.aclCreateDataBuffer(None, 0)
            return
        storage = self.stored.storage.contiguous()
        self._bytes = bytes(storage.reshape(-1).view(torch.uint8).tolist())
        sizes = list(storage.shape if self.stored.sizes is None else self.stored.sizes)
        self.desc = acl.aclCreateTensorDesc(DATA_TYPES[storage.dtype], len(sizes), int64s(sizes), self.stored.plain_format)
        assert acl.aclSetTensorFormat(self.desc, self.stored.format) == 0
        assert acl.aclSetTensorShape(self.desc, storage.dim(), int64s(storage.shape)) == 0
        if self.stored.on_host:
            assert acl.aclSetTensorPlaceMent(self.desc, 1) == 0
            self.host = ctypes.create_string_buffer(self._bytes, max(len(self._bytes), 1))
            self.buffer = acl.aclCreateDataBuffer(ctypes.addressof(self.host), len(self._bytes))
        else:
            self._block = acl.create("aclrtMalloc", len(self._bytes) + len(GUARD), 0)
            acl.write(self._block, self._bytes + GUARD)
            self.buffer = acl.aclCreateDataBuffer(self._block, len(self._bytes))

    def content(self) -> torch.Tensor:
        """Return the current contents of the memory, with the description's current shape."""
        assert self.stored is not None and self._block is not None
        memory = self._acl.read(self._block, len(self._bytes) + len(GUARD))
        assert memory[len(self._bytes) :] == GUARD
        elements = torch.tensor(list(memory[: len(self._bytes)]), dtype=torch.uint8).view(self.stored.storage.dtype)
        shape = []
        for i in range(self._acl.aclGetTensorDescNumDims(self.desc)):
            size = c_int64()
            assert self._acl.aclGetTensorDescDimV2(self.desc, i, ctypes.byref(size)) == 0
            shape.append(size.value)
        return elements[: torch.Size(shape).numel()].reshape(shape)

    def is_untouched(self) -> bool:
        return self._block is None or self._acl.read(self._block, len(self._bytes)) == self._bytes

    def free_memory(self) -> None:
        if self._block is not None:
            self._acl.ok("aclrtFree", self._block)
            self._block = None

    def free(self) -> None:
        self._acl.aclDestroyTensorDesc(self.desc)
        self._acl.aclDestroyDataBuffer(self.buffer)
        self.free_memory()


def make_attributes(acl: Runtime, attributes: Mapping[str, Any]) -> int:
    made = acl.aclopCreateAttr()
    for name, value in attributes.items():
        text = name.encode()
        if isinstance(value, bool):
            code = acl.aclopSetAttrBool(made, text, value)
        elif isinstance(value, DType):
            code = acl.aclopSetAttrDataType(made, text, value)
        elif isinstance(value, int):
            code = acl.aclopSetAttrInt(made, text, value)
        elif isinstance(value, float):
            code = acl.aclopSetAttrFloat(made, text, value)
        elif isinstance(value, str):
            code = acl.aclopSetAttrString(made, text, value.encode())
        elif value and isinstance(value[0], float):
            code = acl.aclopSetAttrListFloat(made, text, len(value), (c_float * len(value))(*value))
        else:
            code = acl.aclopSetAttrListInt(made, text, len(value), int64s(value))
        assert code == 0, acl.message()
    return made


class NamedCall:
    """One call: made, executed and freed."""

    def __init__(
        self, acl: Runtime, name: str, inputs: Sequence[Any], outputs: Sequence[Any], attributes: Mapping[str, Any] | None = None
    ) -> None:
        self._acl, self._name = acl, name
        self.inputs = [Argument(acl, given) for given in inputs]
        self.outputs = [Argument(acl, given) for given in outputs]
        self._attributes = make_attributes(acl, attributes or {})

    def execute(self, function_name: str = "aclopCompileAndExecute") -> int:
        def pointers(values: list[int]) -> Any:
            return (c_void_p * max(len(values), 1))(*values)

        arrays = []
        for arguments in (self.inputs, self.outputs):
            arrays += [len(arguments), pointers([a.desc for a in arguments]), pointers([a.buffer for a in arguments])]
        return getattr(self._acl, function_name)(self._name.encode(), *arrays, self._attributes, 0, 0, None, None)

    def __enter__(self) -> "NamedCall":
        return self

    def __exit__(self, *_: object) -> None:
        self._acl.aclrtSynchronizeStream(None)
        for argument in (*self.inputs, *self.outputs):
            argument.free()
        self._acl.aclopDestroyAttr(self._attributes)


def run(
    acl: Runtime, name: str, inputs: Sequence[Any], outputs: Sequence[Any], function_name: str = "aclopCompileAndExecute", **attributes: Any
) -> list[torch.Tensor]:
    """Return what the operator has written into memory like `outputs`."""
    with NamedCall(acl, name, inputs, outputs, attributes) as call:
        assert call.execute(function_name) == 0, acl.message()
        assert acl.aclrtSynchronizeStream(None) == 0, acl.message()
        assert all(argument.is_untouched() for argument in call.inputs)
        return [argument.content() for argument in call.outputs]


def refuses(acl: Runtime, words: str, name: str, inputs: Sequence[Any], outputs: Sequence[Any], **attributes: Any) -> None:
    """Call what must fail on the stream, with one message that begins with the operator's name and has the words."""
    with NamedCall(acl, name, inputs, outputs, attributes) as call:
        assert call.execute() == 0, acl.message()
        assert acl.aclrtSynchronizeStream(None) != 0
        message = acl.message()
        assert message.startswith(f"{name}: ") and words in message, message
        assert all(argument.is_untouched() for argument in (*call.inputs, *call.outputs))
