"""Addresses of what Python holds, what lies at addresses, and threads: ``acl.util``.

Who passes an address on keeps what it is the address of: an array or bytes object that is gone leaves an address of nothing.
"""

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from acl._binding import to_integer, wrong_type

if TYPE_CHECKING:
    import numpy

_FAILED = 100000  # ACL_ERROR_INVALID_PARAM
_threads: dict[int, threading.Thread] = {}


def bytes_to_ptr(data: bytes, /) -> int:
    """Return the address of what a bytes object holds: ``ptr = acl.util.bytes_to_ptr(bytes_data)``."""
    if not isinstance(data, bytes):
        raise wrong_type(f"{__name__}.bytes_to_ptr", "bytes_data", "bytes", data)
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def ptr_to_bytes(ptr: int, size: int, /) -> bytes:
    """Return a copy of what lies at an address: ``bytes_data = acl.util.ptr_to_bytes(ptr, size)``."""
    address, length = _range(f"{__name__}.ptr_to_bytes", ptr, size)
    return ctypes.string_at(address, length)


def numpy_to_ptr(data: "numpy.ndarray[Any, Any]", /) -> int:
    """Return an array's address, and print a warning if its rows are not contiguous: ``ptr = acl.util.numpy_to_ptr(data)``."""
    array = _array("numpy_to_ptr", "data", data)
    if not array.flags.c_contiguous:
        print("Warning:The input ndarray is discontiguous. Please use acl.util.numpy_contiguous_to_ptr instead.")
    return int(array.ctypes.data)


def numpy_contiguous_to_ptr(data_in: "numpy.ndarray[Any, Any]", /) -> "tuple[int, numpy.ndarray[Any, Any]]":
    """Return the array, or its contiguous copy, after its address: ``ptr, data_out = acl.util.numpy_contiguous_to_ptr(data_in)``."""
    import numpy

    array = numpy.ascontiguousarray(_array("numpy_contiguous_to_ptr", "data_in", data_in))
    return int(array.ctypes.data), array


def ptr_to_numpy(ptr: int, shape: tuple[int, ...], type: int, /) -> "numpy.ndarray[Any, Any]":
    """Return an array on what lies at an address, which it does not own: ``output = acl.util.ptr_to_numpy(ptr, shape, type)``.

    Args:
        ptr: the address.
        shape: the lengths of the array's dimensions.
        type: NumPy's number of the type, such as 11 for float32.

    """
    import numpy

    shown = f"{__name__}.ptr_to_numpy"
    if not isinstance(shape, tuple):
        raise wrong_type(shown, "shape", "tuple", shape)
    known = {numpy.dtype(code).num: numpy.dtype(code) for code in numpy.typecodes["AllInteger"] + numpy.typecodes["AllFloat"] + "?"}
    dtype = known.get(to_integer(shown, "type", "i32", type).value)
    if dtype is None:
        raise ValueError(f"{shown}: type: expected a number of NumPy's integers, floating-point types or bool, got {type}")
    lengths = [to_integer(shown, "shape", "size", length).value for length in shape]
    size = dtype.itemsize
    for length in lengths:
        size *= length
    address, size = _range(shown, ptr, size)
    return numpy.ndarray(lengths, dtype, memoryview((ctypes.c_ubyte * size).from_address(address)))


def start_thread(thr_func: Callable[[Any], object], args_list: Any, /) -> tuple[int, int]:
    """Have a new thread call ``thr_func(args_list)``: ``thr_id, ret = acl.util.start_thread(thr_func, args_list)``."""
    if not callable(thr_func):
        raise wrong_type(f"{__name__}.start_thread", "thr_func", "a function", thr_func)
    # A program that does not stop it ends all the same.
    thread = threading.Thread(target=thr_func, args=(args_list,), daemon=True)
    thread.start()
    number = thread.ident or 0
    _threads[number] = thread
    return number, 0


def stop_thread(thr_id: int, /) -> int:
    """Wait until the thread has ended: ``ret = acl.util.stop_thread(thr_id)``."""
    thread = _threads.pop(to_integer(f"{__name__}.stop_thread", "thr_id", "u64", thr_id).value, None)
    if thread is None:
        return _FAILED
    thread.join()
    return 0


def _range(function: str, ptr: int, size: int) -> tuple[int, int]:
    address, length = to_integer(function, "ptr", "address", ptr).value, to_integer(function, "size", "size", size).value
    if address == 0:
        raise ValueError(f"{function}: ptr: expected an address, got 0")
    if length > sys.maxsize:
        raise OverflowError(f"{function}: size: expected a value in 0..{sys.maxsize}, got {length}")
    return address, length


def _array(function: str, parameter: str, value: object) -> "numpy.ndarray[Any, Any]":
    import numpy

    if not isinstance(value, numpy.ndarray):
        raise wrong_type(f"{__name__}.{function}", parameter, "numpy.ndarray", value)
    return value
