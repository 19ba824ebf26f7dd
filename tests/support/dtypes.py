"""The data types and formats of the C interface, and numbers in them."""

import math
import random
import struct
from enum import IntEnum
from typing import Any


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
HALF_TYPES = (DType.FLOAT16, DType.BF16)
COMPLEX_TYPES = (DType.COMPLEX64, DType.COMPLEX128)
FLOATING_TYPES = (DType.FLOAT, DType.DOUBLE, *HALF_TYPES)

_PACKING = {
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
    if dtype in COMPLEX_TYPES:
        return struct.pack(_PACKING[dtype], value.real, value.imag)
    return struct.pack(_PACKING[dtype], value)


def unpack(dtype: DType, data: bytes) -> Any:
    numbers = struct.unpack(_PACKING[dtype], b"\0\0" + data if dtype == DType.BF16 else data)
    return complex(*numbers) if len(numbers) == 2 else numbers[0]


def size_of(dtype: int) -> int:
    """Return the bytes of an element; 1 for what is no type."""
    return len(pack(DType(dtype), 0)) if dtype in DType.__members__.values() else 1


def numbers(count: int, dtype: DType, seed: int = 0) -> list[Any]:
    """Return numbers of one sign that the type holds, so that a sum of them loses no precision."""
    source = random.Random(seed)
    if dtype in COMPLEX_TYPES:
        exact: list[Any] = [complex(source.uniform(0.5, 2), source.uniform(0.5, 2)) for _ in range(count)]
    elif dtype in FLOATING_TYPES:
        exact = [source.uniform(0.5, 2) for _ in range(count)]
    else:
        exact = [source.randrange(128) for _ in range(count)]
    return [unpack(dtype, pack(dtype, value)) for value in exact]
