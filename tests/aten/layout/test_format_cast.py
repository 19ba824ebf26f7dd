"""format_cast.cpp against definitions in float64."""

import ctypes
import math
from ctypes import POINTER, byref, c_int, c_int64, c_uint64

import pytest
import torch
from checks import DEVICE, zeros

from direct import call, client, described, refuses
from support.dtypes import DType, Format
from support.private_formats import FRACTAL_Z_3D, PLAIN, in_memory, storage_sizes
from support.status import INVALID, NULL

CASES = [
    (Format.FRACTAL_NZ, (2, 17, 33)), (Format.FRACTAL_NZ, (5, 7)), (Format.NDC1HWC0, (2, 17, 2, 3, 4)), (FRACTAL_Z_3D, (17, 18, 2, 3, 4)),
]  # fmt: skip


def tensor(memory, sizes, kind):
    """A handle for what a tensor on the device holds in a format."""
    return described(memory.data_ptr(), sizes, [math.prod(sizes[i + 1 :]) for i in range(len(sizes))], memory.shape, kind=kind)


def size_and_format(handle, kind, dtype):
    shape, count, actual = POINTER(c_int64)(), c_uint64(), c_int(-7)
    calculate = ctypes.CDLL("libaclnn_math.so").aclnnNpuFormatCastCalculateSizeAndFormat
    code = calculate(handle, c_int(kind), c_int(dtype), byref(shape), byref(count), byref(actual))
    return code, shape[: count.value] if code == 0 else [], actual.value


@pytest.mark.parametrize(("kind", "sizes"), CASES)
def test_there_and_back(kind, sizes):
    x = torch.randn(sizes)
    memory = x.to(DEVICE)
    plain = tensor(memory, sizes, PLAIN[kind])
    code, shape, actual = size_and_format(plain, kind, -1)
    assert (code, actual) == (0, kind)
    assert shape == storage_sizes(kind, sizes, 8)  # 32 bytes of FLOAT
    there = zeros(*shape) + 1
    target = tensor(there, sizes, kind)
    call("aclnnNpuFormatCast", plain, target)
    assert there.cpu().flatten().equal(in_memory(kind, x, 8).flatten())
    memory.zero_()
    assert size_and_format(target, PLAIN[kind], -1) == (0, list(sizes), PLAIN[kind])
    call("aclnnNpuFormatCast", target, plain)
    assert memory.cpu().equal(x)


def test_blocks_of_matrices_are_those_of_the_other_data_type():
    plain = tensor(zeros(17, 33), (17, 33), Format.ND)
    for dtype, columns in ((DType.FLOAT16, 16), (DType.INT8, 32), (DType.FLOAT, 8)):
        assert size_and_format(plain, Format.FRACTAL_NZ, dtype)[1] == storage_sizes(Format.FRACTAL_NZ, (17, 33), columns)


def test_what_is_refused():
    memory = zeros(17, 33)
    plain, volume = (tensor(memory, (17, 33), kind) for kind in (Format.ND, Format.NCDHW))
    assert size_and_format(None, Format.FRACTAL_NZ, -1)[0] == NULL
    for source, kind, dtype, words in (
        (plain, 4444, -1, "got ND to aclFormat(4444)"),
        (plain, Format.NC1HWC0, -1, "dstFormat: expected one of the formats ND and FRACTAL_NZ, NCDHW and NDC1HWC0, NCDHW and FRACTAL_Z_3D"),
        (plain, Format.ND, -1, "got ND to ND"),
        (plain, Format.FRACTAL_NZ, 1000, "additionalDtype: expected a data type with a size, got 1000"),
        (volume, Format.NDC1HWC0, -1, "srcTensor: expected 5 dimensions for format NDC1HWC0, got shape [17, 33]"),
    ):
        assert size_and_format(source, kind, dtype)[0] == INVALID
        assert words in client().message()
    for shape, words in (((3, 2, 16, 16), "expected shape [2, 2, 16, 16] in memory"), ((2, 2, 16, 16), "expected the shape of srcTensor")):
        refuses(f"dstTensor: {words}", "aclnnNpuFormatCast", plain, tensor(zeros(*shape), (17, 32), Format.FRACTAL_NZ))


def test_memory_that_is_too_small_for_the_blocks():
    plain, block = tensor(zeros(5, 7), (5, 7), Format.ND), zeros(16)
    small = described(block.data_ptr(), (5, 7), (7, 1), (1024, 1024, 16, 16), kind=Format.FRACTAL_NZ)
    refuses("", "aclnnNpuFormatCast", plain, small)
    large = described(block.data_ptr(), (16 << 24, 16 << 14), (1, 1), (1 << 14, 1 << 24, 16, 16), kind=Format.FRACTAL_NZ)
    refuses("", "aclnnNpuFormatCast", large, large)
