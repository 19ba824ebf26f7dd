"""format_cast.cpp against definitions in float64."""

import ctypes
import math
from ctypes import POINTER, byref, c_int, c_int64, c_uint64, c_void_p

import pytest
import torch
from torch_aclnn.loading.paths import libdir

from support.client import Client, int64s
from support.dtypes import DType, Format
from support.private_formats import FRACTAL_Z_3D, PLAIN, in_memory, storage_sizes
from support.status import INVALID, NULL

CASES = [
    (Format.FRACTAL_NZ, (2, 17, 33)), (Format.FRACTAL_NZ, (5, 7)), (Format.NDC1HWC0, (2, 17, 2, 3, 4)), (FRACTAL_Z_3D, (17, 18, 2, 3, 4)),
]  # fmt: skip


class FormatCast:
    """The entry point and what it asks for, with its tensors in device memory."""

    def __init__(self) -> None:
        self.client = Client(libdir())
        self.math = ctypes.CDLL("libaclnn_math.so")
        self.math.aclnnNpuFormatCastCalculateSizeAndFormat.argtypes = [
            c_void_p, c_int, c_int, POINTER(POINTER(c_int64)), POINTER(c_uint64), POINTER(c_int),
        ]  # fmt: skip
        self.math.aclnnNpuFormatCastGetWorkspaceSize.argtypes = [c_void_p, c_void_p, POINTER(c_uint64), POINTER(c_void_p)]
        self.math.aclnnNpuFormatCast.argtypes = [c_void_p, c_uint64, c_void_p, c_void_p]
        self._blocks: list[int] = []

    def tensor(self, storage: torch.Tensor, sizes: tuple[int, ...], kind: int) -> tuple[int, int]:
        """Return a handle, and the address of what it describes."""
        content = bytes(storage.contiguous().reshape(-1).view(torch.uint8).tolist())
        address = self.client.allocate(max(len(content), 1))
        self._blocks.append(address)
        self.client.acl.write(address, content)
        strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        dims, memory = int64s(sizes), int64s(storage.shape)
        handle = self.client.opapi.aclCreateTensor(dims, len(sizes), DType.FLOAT, int64s(strides), 0, kind, memory, storage.dim(), address)
        return handle, address

    def size_and_format(self, handle: int | None, kind: int, dtype: int) -> tuple[int, list[int], int]:
        shape, count, actual = POINTER(c_int64)(), c_uint64(), c_int(-7)
        code = self.math.aclnnNpuFormatCastCalculateSizeAndFormat(handle, kind, dtype, byref(shape), byref(count), byref(actual))
        return code, shape[: count.value] if code == 0 else [], actual.value

    def run(self, source: int, target: int) -> int:
        size, executor = c_uint64(), c_void_p()
        code = self.math.aclnnNpuFormatCastGetWorkspaceSize(source, target, byref(size), byref(executor))
        if code == 0:
            workspace = self.client.allocate(size.value) if size.value else None
            self._blocks += [workspace] if workspace else []
            assert self.math.aclnnNpuFormatCast(workspace, size, executor, None) == 0
            self.client.acl.ok("aclrtSynchronizeStream", None)
        return code

    def free(self) -> None:
        for address in self._blocks:
            self.client.free(address)


@pytest.fixture
def cast():
    made = FormatCast()
    made.client.acl.ok("aclrtSetDevice", 0)
    yield made
    made.free()


@pytest.mark.parametrize(("kind", "sizes"), CASES)
def test_there_and_back(cast, kind, sizes):
    x = torch.randn(sizes)
    plain, address = cast.tensor(x, sizes, PLAIN[kind])
    code, shape, actual = cast.size_and_format(plain, kind, -1)
    assert (code, actual) == (0, kind)
    assert shape == storage_sizes(kind, sizes, 8)  # 32 bytes of FLOAT
    target, there = cast.tensor(torch.ones(shape), sizes, kind)
    assert cast.run(plain, target) == 0
    memory = cast.client.acl.read(there, 4 * math.prod(shape))
    assert memory == bytes(in_memory(kind, x, 8).reshape(-1).view(torch.uint8).tolist())
    cast.client.acl.write(address, bytes(4 * x.numel()))
    assert cast.size_and_format(target, PLAIN[kind], -1) == (0, list(sizes), PLAIN[kind])
    assert cast.run(target, plain) == 0
    assert cast.client.acl.read(address, 4 * x.numel()) == bytes(x.reshape(-1).view(torch.uint8).tolist())


def test_blocks_of_matrices_are_those_of_the_other_data_type(cast):
    plain, _ = cast.tensor(torch.zeros(17, 33), (17, 33), Format.ND)
    for dtype, columns in ((DType.FLOAT16, 16), (DType.INT8, 32), (DType.FLOAT, 8)):
        assert cast.size_and_format(plain, Format.FRACTAL_NZ, dtype)[1] == storage_sizes(Format.FRACTAL_NZ, (17, 33), columns)


def test_what_is_refused(cast):
    plain, _ = cast.tensor(torch.zeros(17, 33), (17, 33), Format.ND)
    assert cast.size_and_format(None, Format.FRACTAL_NZ, -1)[0] == NULL
    for kind, dtype, words in (
        (4444, -1, "got ND to aclFormat(4444)"),
        (Format.NC1HWC0, -1, "dstFormat: expected one of the formats ND and FRACTAL_NZ, NCDHW and NDC1HWC0, NCDHW and FRACTAL_Z_3D"),
        (Format.ND, -1, "got ND to ND"),
        (Format.FRACTAL_NZ, 1000, "additionalDtype: expected a data type with a size, got 1000"),
    ):
        assert cast.size_and_format(plain, kind, dtype)[0] == INVALID
        assert words in cast.client.message()
    matrix, _ = cast.tensor(torch.zeros(17, 33), (17, 33), Format.NCDHW)
    assert cast.size_and_format(matrix, Format.NDC1HWC0, -1)[0] == INVALID
    assert "srcTensor: expected 5 dimensions for format NDC1HWC0, got shape [17, 33]" in cast.client.message()
    for sizes, shape, words in (
        ((17, 32), (3, 2, 16, 16), "dstTensor: expected shape [2, 2, 16, 16] in memory"),
        ((17, 32), (2, 2, 16, 16), "dstTensor: expected the shape of srcTensor"),
    ):
        target, _ = cast.tensor(torch.zeros(shape), sizes, Format.FRACTAL_NZ)
        assert cast.run(plain, target) == INVALID
        assert words in cast.client.message()


def test_memory_that_is_too_small_for_the_blocks(cast):
    plain, _ = cast.tensor(torch.zeros(5, 7), (5, 7), Format.ND)
    block = cast.client.allocate(64)
    small = cast.client.opapi.aclCreateTensor(
        int64s((5, 7)), 2, DType.FLOAT, int64s((7, 1)), 0, Format.FRACTAL_NZ, int64s((1024, 1024, 16, 16)), 4, block
    )
    assert cast.run(plain, small) == INVALID
    large = cast.client.opapi.aclCreateTensor(
        int64s((16 << 24, 16 << 14)), 2, DType.FLOAT, int64s((1, 1)), 0, Format.FRACTAL_NZ, int64s((1 << 14, 1 << 24, 16, 16)), 4, block
    )
    assert cast.run(large, large) == INVALID
    cast.client.free(block)
