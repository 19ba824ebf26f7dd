"""Changes of one argument that make it another, mostly a wrong one."""

import ctypes
import struct
from collections.abc import Callable
from random import Random
from typing import Any

from arguments import BoolArray, IntArray, Scalar, ScalarList, TensorList, kind, number

from support.dtypes import COMPLEX_TYPES, DType, size_of
from support.tensors import Tensor

SIZES = (0, 1, 2, 3, 4, 5, 7, 16)
INTEGERS = (0, 1, 2, 3, 4, 8, 16, -1, -2, -3, 127, 1000, 65536, 2**31 - 1, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
NUMBERS = (0.0, 1.0, -1.0, 0.5, 2.0, -0.0, 1e-45, 1e30, -1e30, float("inf"), float("-inf"), float("nan"))
TEXTS = (b"", b"none", b"mean", b"sum", b"BNSD", b"TND", b"BSH", b"NTD", b"rint", b"floor", b"\xff\xfe", b"%s%n", b"x" * 5000)
DTYPES = tuple(DType)
NO_DTYPES = (-1, 5, 13, 28, 29, 33, 36, 1000)
FORMATS = (-1, 0, 1, 2, 3, 4, 27, 29, 30, 32, 47, 99)
NO_HANDLES = (1, 0x1000, 0x10008, 2**63)


def content_of(rng: Random, tensor: Tensor) -> bytes:
    """Return what to fill a tensor with: elements that are good positions, numbers of any size, or any bits."""
    dtype, count = tensor.dtype, rng.choice((1, 3, 7))
    if dtype == DType.BOOL:
        return bytes(rng.randrange(2) for _ in range(count))
    if rng.random() < 0.1:
        return rng.randbytes(size_of(dtype) * count)
    kinds = rng.choices(((0,), (0, 1), (0, 1, 2, 3), INTEGERS, NUMBERS), (2, 4, 2, 1, 2))[0]
    return b"".join(packed(dtype, rng.choice(kinds)) for _ in range(count))


def packed(dtype: int, value: float) -> bytes:
    """Return the value as an element of the type, cut to the bits that fit."""
    half = {DType.FLOAT16: ("<e", 2), DType.BF16: ("<f", 4)}
    if dtype in COMPLEX_TYPES:
        return packed(DType.FLOAT if dtype == DType.COMPLEX64 else DType.DOUBLE, value) * 2
    if dtype in (DType.FLOAT, DType.DOUBLE):
        return struct.pack("<f" if dtype == DType.FLOAT else "<d", value)
    if dtype in half:
        small = max(min(value, 60000.0), -60000.0) if abs(value) < float("inf") else value
        return struct.pack(half[DType(dtype)][0], small)[-2:]
    whole = 0 if value != value else int(max(min(value, 2**63 - 1), -(2**63)))
    return (whole % 2**64).to_bytes(8, "little")[: size_of(dtype)]


def another_shape(rng: Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    sizes, d = list(shape), rng.randrange(max(len(shape), 1))
    what = rng.randrange(8)
    if what < 3 and sizes:
        sizes[d] = max(0, sizes[d] + rng.choice((-1, 1))) if what < 2 else rng.choice(SIZES)
    elif what == 3 and sizes:
        del sizes[d]
    elif what == 4:
        sizes.insert(d, rng.choice(SIZES))
    elif what == 5:
        rng.shuffle(sizes)
    else:
        sizes = [rng.choice(SIZES[:5]) for _ in range(rng.randrange(10))]
    if rng.random() < 0.02:
        sizes.insert(0, rng.choice((-1, 2**31, 2**62, 2**63 - 1)))
    return tuple(sizes)


def another_layout(rng: Random, tensor: Tensor) -> Tensor:
    """Return the tensor in another layout that is a sound one."""
    order = list(range(len(tensor.shape)))
    if rng.random() < 0.6:
        rng.shuffle(order)
    return tensor.laid_out(order=order, step=rng.choice((1, 1, 2, 3)), offset=rng.choice((0, 0, 1, 5)))


def strange_layout(rng: Random, tensor: Tensor) -> Tensor:
    strides = list(tensor.real_strides())
    if strides:
        strides[rng.randrange(len(strides))] = rng.choice((0, 0, 1, -1, 2**20, 2**40, 2**63 - 1))
    what = rng.randrange(6)
    if what < 3:
        return tensor.but(strides=tuple(strides))
    if what == 3:
        return tensor.but(strides=tuple(0 for _ in strides))
    if what == 4:
        return tensor.but(offset=rng.choice((-1, 1, 2**20, 2**40, 2**63 - 1)))
    return tensor.but(storage=tuple(rng.choice((0, 1, 2, 3, -1, 2**40)) for _ in range(rng.randrange(4))))


def another_tensor(rng: Random, tensor: Tensor) -> Any:
    what = rng.randrange(20)
    if what < 8:
        return tensor.but(shape=another_shape(rng, tensor.shape), strides=None, offset=0, storage=None)
    if what < 13:
        return tensor.but(dtype=rng.choice(DTYPES))
    if what < 14:
        return tensor.but(dtype=rng.choice(NO_DTYPES))
    if what < 17:
        return strange_layout(rng, tensor)
    if what < 18:
        return tensor.but(null_data=True)
    return tensor.but(format=rng.choice(FORMATS)) if what < 19 else another_layout(rng, tensor)


def another_list(rng: Random, members: tuple[Any, ...], change: Callable[[Random, Any], Any]) -> tuple[Any, ...]:
    made, i = list(members), rng.randrange(max(len(members), 1))
    what = rng.randrange(6)
    if what == 0:
        return ()
    if what == 1:
        return (*made, *made) if made else ()
    if what == 2 and made:
        del made[i]
    elif made:
        made[i] = change(rng, made[i])
    return tuple(made)


def another_scalar(rng: Random, scalar: Scalar) -> Scalar:
    dtype = rng.choice(DTYPES) if rng.random() < 0.5 else scalar.dtype
    if dtype not in DTYPES:
        return number(1)
    return Scalar(dtype, packed(dtype, rng.choice(NUMBERS + INTEGERS)).ljust(16, b"\0"))


def another_integer(rng: Random, value: int) -> int:
    return rng.choice((value - 1, value + 1, -value, *INTEGERS))


def any_value(rng: Random, value: Any) -> Any:
    """Return another value of the same C type."""
    if isinstance(value, Tensor):
        return another_tensor(rng, value)
    if isinstance(value, TensorList):
        return TensorList(another_list(rng, value.members, lambda rng, m: None if rng.random() < 0.1 else m and another_tensor(rng, m)))
    if isinstance(value, Scalar):
        return another_scalar(rng, value)
    if isinstance(value, ScalarList):
        return ScalarList(another_list(rng, value.members, another_scalar))
    if isinstance(value, IntArray):
        return IntArray(tuple(wrapped(v, 64) for v in another_list(rng, value.values, another_integer)))
    if isinstance(value, BoolArray):
        return BoolArray(another_list(rng, value.values, lambda _, v: not v))
    if isinstance(value, ctypes.c_char_p):
        return ctypes.c_char_p(rng.choice(TEXTS))
    if isinstance(value, ctypes.c_bool):
        return ctypes.c_bool(not value.value)
    if isinstance(value, (ctypes.c_float, ctypes.c_double)):
        return type(value)(rng.choice(NUMBERS))
    if isinstance(value, ctypes._SimpleCData) and not isinstance(value, ctypes.c_void_p):
        return type(value)(wrapped(another_integer(rng, value.value), 8 * ctypes.sizeof(value)))
    return value


def wrapped(value: int, bits: int) -> int:
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def is_pointer(value: Any) -> bool:
    return not isinstance(value, ctypes._SimpleCData) or isinstance(value, (ctypes.c_char_p, ctypes.c_void_p))


def hostile(rng: Random, kind_name: str, value: Any) -> Any:
    """Return another argument in the place of one: of the same type, null, or a pointer to nothing."""
    what = rng.random()
    if is_pointer(value) and what < 0.06:
        return None
    is_text = isinstance(kind(kind_name).sound, ctypes.c_char_p) or isinstance(
        value, ctypes.c_char_p
    )  # C cannot tell texts from other pointers
    if is_pointer(value) and not is_text and what < 0.08:
        return ctypes.c_void_p(rng.choice(NO_HANDLES))
    if what < 0.2:
        return rng.choice((*kind(kind_name).wrong, kind(kind_name).sound))
    return any_value(rng, kind(kind_name).sound if value is None else value)
