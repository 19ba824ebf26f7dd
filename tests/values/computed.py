"""Calls computed by the engine and by a definition, and the difference."""

import ctypes
import math
from random import Random
from typing import Any

import torch
from arguments import BoolArray, Handles, IntArray, Scalar, ScalarList, TensorList
from hostile_calls.call import Call, Place
from sound_calls import phase1, phase2

from support.client import Client, int64s
from support.dtypes import PRIVATE_FORMATS, DType, unpack
from support.named_operators import DATA_TYPES
from support.tensors import Tensor

from .contents import fill
from .definitions import definition

TYPES = {number: dtype for dtype, number in DATA_TYPES.items() if number in set(DType)}
TOLERANCE = {torch.float32: 1e-5, torch.complex64: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}  # 1e-10 for other types
SIZE = 8 << 20
# The values of kinds that ATen knows by another name.
NAMED: dict[str, tuple[Any, ...]] = {
    "GeluMode": ("none", "tanh"),
    "ScatterMode": (None, "add", "multiply"),
    "Rounding": (None, "trunc", "floor"),
    "Reduce": ("", "sum", "prod", "amax", "amin", "mean"),
}


def exact_type(dtype: torch.dtype) -> torch.dtype:
    """Return the type in which a definition has numbers of the type."""
    if dtype.is_complex or dtype == torch.bool:
        return torch.complex128 if dtype.is_complex else dtype
    return torch.float64 if dtype.is_floating_point else torch.int64


def number_of(scalar: Scalar) -> Any:
    return unpack(DType(scalar.dtype), scalar.bytes[: TYPES[scalar.dtype].itemsize])


class Packed:
    """A result of which only the elements that there are get written, without gaps."""

    def pack(self, result: torch.Tensor) -> None:
        self.result = result


class Unsupported(Exception):
    """A tensor whose elements torch cannot read."""


class Device:
    """Memory of the device, in which the tensors of one call at a time are."""

    def __init__(self, client: Client) -> None:
        self._client, self._address, self._others = client, client.allocate(SIZE), Handles(client, 0)
        memory = torch.frombuffer((ctypes.c_char * SIZE).from_address(self._address), dtype=torch.uint8)
        self._memory = {number: memory.view(dtype) for number, dtype in TYPES.items()}

    def begin(self, call: Call) -> None:
        """Make the handles of a call, and the tensors that they are for."""
        self.call, self._end = call, 0
        self._made: list[tuple[str, Any]] = []
        self.tensors: dict[Place, torch.Tensor] = {}
        self._arguments = [self._argument(name, value) for name, value in call.arguments.items()]

    def end(self) -> None:
        for kind, handle in self._made:
            self._client.destroy(kind, handle)

    def answer(self) -> str:
        """Return the message of phase 1; an empty text where it takes the call."""
        self._client.opapi.UnInitPTACacheThreadLocal()  # a call that was refused leaves its key in the thread
        code, executor, _ = phase1(self.call.entry_point, self._arguments)
        if code == 0:
            self._client.destroy("AclOpExecutor", executor)
        return self._client.message() if code else ""

    def compute(self) -> str:
        """Make the call, and return the message if it fails."""
        code, executor, size = phase1(self.call.entry_point, self._arguments)
        workspace = self._client.allocate(size) if code == 0 and size else None
        if code == 0:
            code = phase2(self.call.entry_point, executor, workspace, size) or self._client.acl.aclrtSynchronizeStream(None)
        if workspace:
            self._client.free(workspace)
        return self._client.message() or str(code) if code else ""

    def _argument(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, ctypes._SimpleCData):
            return value
        if isinstance(value, TensorList):
            members = [member and self._tensor(Place(name, i), member) for i, member in enumerate(value.members)]
            handle = self._client.opapi.aclCreateTensorList((ctypes.c_void_p * len(members))(*members), len(members))
        else:
            handle = self._tensor(Place(name, 0), value) if isinstance(value, Tensor) else self._others.make(value)
        self._made.append((type(value).__name__, handle))
        return ctypes.c_void_p(handle)

    def _tensor(self, place: Place, tensor: Tensor) -> int:
        if tensor.dtype not in TYPES or tensor.format in PRIVATE_FORMATS:
            raise Unsupported(f"{place.parameter} has no elements of torch's types")
        memory, strides = self._memory[tensor.dtype], tensor.real_strides()
        last = sum((size - 1) * stride for size, stride in zip(tensor.shape, strides, strict=True)) if 0 not in tensor.shape else 0
        count = tensor.offset + last + 1
        begin, self._end = self._end, self._end + (-(-count * memory.itemsize // 64) + 1) * 64
        if self._end > SIZE:
            raise Unsupported(f"{place.parameter} is too large")
        self.tensors[place] = memory.as_strided(tensor.shape, strides, begin // memory.itemsize + tensor.offset)
        described = int64s(tensor.shape), len(tensor.shape), int(tensor.dtype), int64s(strides), tensor.offset, tensor.real_format()
        return self._client.opapi.aclCreateTensor(*described, int64s((count,)), 1, self._address + begin)


def value_of(kind: str, name: str, value: Any, exact: dict[Place, Any]) -> Any:
    """Return an argument as a definition has it."""
    if value is None:
        return None
    if isinstance(value, TensorList):
        return [exact[Place(name, i)] if member else None for i, member in enumerate(value.members)]
    if isinstance(value, Tensor):
        return exact[Place(name, 0)]
    if isinstance(value, Scalar):
        return number_of(value)
    if isinstance(value, ScalarList):
        return [number_of(member) for member in value.members]
    if isinstance(value, (IntArray, BoolArray)):
        return list(value.values)
    if isinstance(value, ctypes.c_char_p):
        return (value.value or b"").decode()
    if kind == "DType":
        return exact_type(TYPES[value.value])
    return NAMED[kind][value.value] if kind in NAMED else value.value


def difference(device: Device, rng: Random) -> tuple[str, str]:
    """Make the call with other numbers; return what kept it from being compared, and the first difference."""
    call, kinds = device.call, {p.name: p.kind.partition(" in ")[0] for p in device.call.entry_point.parameters}
    exact: dict[Place, Any] = {}
    for place, tensor in device.tensors.items():
        fill(rng, call.entry_point.name, place.parameter, tensor)
        exact[place] = tensor.to(exact_type(tensor.dtype), copy=True, memory_format=torch.contiguous_format)
        if kinds[place.parameter] == "Packed":
            exact[place] = Packed()
    largest = [
        x.abs().nan_to_num(0, 0, 0).max().item()
        for x in exact.values()
        if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex()) and x.numel()
    ]
    values = {name: value_of(kinds[name], name, value, exact) for name, value in call.arguments.items()}
    if message := device.compute():
        return message, ""
    define = definition(call.entry_point.name)
    assert define is not None
    try:
        define(values)
    except Exception as error:
        return f"the definition: {type(error).__name__}: {error}", ""
    return "", next((f"{place.parameter}[{place.index}]: {text}" for place, got in device.tensors.items()
                     if (text := compared(got, exact[place], min(max(largest, default=0), 1e4) / 10))), "")  # fmt: skip


def compared(got: torch.Tensor, exact: Any, scale: float) -> str:
    """Return how numbers differ by more than rounding, also that of terms of this scale that cancel."""
    if isinstance(exact, Packed):
        exact, got = exact.result, got.reshape(-1)[: exact.result.numel()].view(exact.result.shape)
    if got.shape != exact.shape:
        return f"expected shape {tuple(exact.shape)}, got {tuple(got.shape)}"
    expected = exact.to(got.dtype)
    if not (got.is_floating_point() or got.is_complex()):
        differs = (got != expected) & (exact != torch.iinfo(torch.int64).min)  # this number stands for NaN
        return f"expected {expected.tolist()}, got {got.tolist()}" if differs.any() else ""
    expected, got, tolerance = (*(x.to(exact_type(got.dtype)) for x in (expected, got)), TOLERANCE.get(got.dtype, 1e-10))
    # A number too small for the type became 0, and 0 times an infinity is NaN, where the definition has an infinity.
    undefined = ~torch.isfinite(expected) & ~torch.isfinite(got) & (expected.isnan() | got.isnan())
    bound = tolerance * max(expected.abs().nan_to_num(0, 0).max().item() if got.numel() else math.inf, scale)
    is_close = torch.isclose(got, expected, tolerance, bound) | undefined
    return "" if is_close.all() else f"expected {expected.tolist()}, got {got.tolist()}"
