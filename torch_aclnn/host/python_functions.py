"""Python functions as the engine calls them (``include/torch_aclnn/implement.h``)."""

import atexit
import ctypes
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import torch
from torch_aclnn.host.registry import host_runtime
from torch_aclnn.loading.engine import ATEN_ADAPTERS, load_what_needs_torch
from torch_aclnn.loading.paths import libdir

_MAJOR, _MINOR = 1, 0
_TENSORS, _NUMBERS, _DATA_TYPE, _TEXT = range(4)

# aclDataType.
_DTYPES = {
    0: torch.float32,
    1: torch.float16,
    2: torch.int8,
    3: torch.int32,
    4: torch.uint8,
    6: torch.int16,
    7: torch.uint16,
    8: torch.uint32,
    9: torch.int64,
    10: torch.uint64,
    11: torch.float64,
    12: torch.bool,
    16: torch.complex64,
    17: torch.complex128,
    27: torch.bfloat16,
}
_INT64, _DOUBLE, _BOOL = 9, 11, 12


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int64),
        ("data_type", ctypes.c_int),
    )


class _Number(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("imaginary", ctypes.c_double),
    )


class _Value(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("is_list", ctypes.c_int),
        ("count", ctypes.c_int64),
        ("tensors", ctypes.POINTER(_Tensor)),
        ("numbers", ctypes.POINTER(_Number)),
        ("text", ctypes.c_char_p),
    )


_Function = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Value), ctypes.c_int64, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t
)


class _Implementation(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("signature", ctypes.c_char_p),
        ("data_types", ctypes.c_uint64),
        ("function", _Function),
        ("context", ctypes.c_void_p),
        ("replace", ctypes.c_int),
    )


class _Library(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("count", ctypes.c_size_t),
        ("implementations", ctypes.POINTER(_Implementation)),
    )


# By their contexts. The engine may call one at any time, so none is ever taken out.
_functions: dict[int, Callable[..., Any]] = {}


def add(name: str, signature: str, function: Callable[..., Any], dtypes: Iterable[torch.dtype] | None, replace: bool) -> None:
    """Give a function to the engine."""
    runtime = host_runtime()
    load_what_needs_torch()
    context = len(_functions) + 1
    row = _Implementation(name.encode(), signature.encode(), _bits(name, dtypes), _call, context, replace)
    library = _Library(_MAJOR, _MINOR, 1, ctypes.pointer(row))
    if context == 1:
        _stop_at_exit()
        _synchronize_before_waits_with_the_lock()
    _functions[context] = function
    if _adapters().torchAclnnHostImplement(ctypes.byref(library)) != 0:
        runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
        message = runtime.aclGetRecentErrMsg() or b""
        raise ValueError(message.decode(errors="replace").removeprefix("torchAclnnHostImplement: "))


def _adapters() -> ctypes.CDLL:
    return ctypes.CDLL(str(libdir() / ATEN_ADAPTERS))


def _bits(name: str, dtypes: Iterable[torch.dtype] | None) -> int:
    if dtypes is None:
        return 0
    numbers = {dtype: number for number, dtype in _DTYPES.items()}
    unknown = [str(dtype) for dtype in dtypes if dtype not in numbers]
    if unknown or not (bits := sum(1 << numbers[dtype] for dtype in set(dtypes))):
        raise ValueError(f"{name}: dtypes: expected some of {', '.join(map(str, numbers))}, got {', '.join(unknown) or 'none'}")
    return bits


def _compute(context: int, values: Any, count: int, message: Any, capacity: int) -> int:
    # The interpreter's lock is taken by ctypes, on whatever thread this is.
    try:
        function = _functions[context]
        # Neither modes of the calling thread nor autograd have to do with what an operator computes.
        with torch._C.DisableTorchFunction(), torch.no_grad():
            result = function(*map(_argument, values[:count]))
        if result is None:
            return 0
        reason = f"expected a function that writes its results and returns None, got one that returned {type(result).__name__}"
    except BaseException as error:  # none may go through C
        reason = _described(error, function)
    text = reason.encode(errors="replace")[: capacity - 1].decode(errors="ignore").encode()
    ctypes.memmove(message, text + b"\0", len(text) + 1)
    return 1


_call = _Function(_compute)


def _described(error: BaseException, function: Callable[..., Any]) -> str:
    """Return the exception with the line of the function that it comes from, or the innermost where that is not known."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    file = getattr(getattr(function, "__code__", None), "co_filename", None)
    frames = [frame for frame in frames if frame.filename == file] or frames
    place = f" ({frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _argument(value: Any) -> Any:
    if value.count < 0:
        return None
    if value.kind == _TEXT:
        return value.text.decode(errors="replace")
    if value.kind == _DATA_TYPE:
        return _DTYPES[value.numbers[0].integer]
    items = [_tensor(value.tensors[i]) if value.kind == _TENSORS else _number(value.numbers[i]) for i in range(value.count)]
    return items if value.is_list else items[0]


def _number(number: Any) -> bool | int | float | complex:
    if number.type == _BOOL:
        return bool(number.integer)
    if number.type == _INT64:
        return int(number.integer)
    return float(number.real) if number.type == _DOUBLE else complex(number.real, number.imaginary)


def _tensor(tensor: Any) -> torch.Tensor:
    dtype, sizes, strides = _DTYPES[tensor.data_type], tensor.sizes[: tensor.rank], tensor.strides[: tensor.rank]
    if 0 in sizes:
        return torch.empty_strided(sizes, strides, dtype=dtype)
    count = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(tensor.data)
    return torch.frombuffer(memory, dtype=dtype).as_strided(sizes, strides)


def _synchronize_before_waits_with_the_lock() -> None:
    """Synchronize before functions of torch_npu that wait for its queue with the interpreter's lock, which the queue's thread may need."""
    import torch_npu

    empty_cache = torch_npu._C._npu_emptyCache

    def empty_cache_later() -> None:
        torch_npu.npu.synchronize()
        empty_cache()

    torch_npu._C._npu_emptyCache = empty_cache_later
    stream = torch_npu.npu.Stream
    query, address = stream.query, stream.npu_stream

    def query_later(self: Any) -> bool:
        _synchronize(self)
        return bool(query(self))

    def address_later(self: Any) -> int:
        _synchronize(self)
        return int(address.__get__(self))

    stream.query, stream.npu_stream = query_later, property(address_later)


def _synchronize(stream: Any) -> None:
    if not sys.modules["torch_npu"].npu.is_current_stream_capturing():  # what is captured does not run
        stream.synchronize()


def _stop_at_exit() -> None:
    atexit.register(_stop)
    os.register_at_fork(after_in_child=lambda: atexit.unregister(_stop))  # what the parent has launched is the parent's


def _stop() -> None:
    """Let what is launched end, and refuse later calls: threads of torch_npu outlive the interpreter."""
    npu = getattr(torch, "npu", None)
    if npu is not None and npu.is_initialized():
        with suppress(RuntimeError):  # of work that failed, and that nobody has asked about
            npu.synchronize()
    _adapters().torchAclnnHostStopFunction(_call, b"the Python interpreter has ended")
