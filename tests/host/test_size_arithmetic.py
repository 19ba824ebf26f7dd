"""Sizes that arithmetic on 64 bits cannot hold, or no machine has, through the C interface: each is refused with a code and a message."""

import ctypes
import mmap
import platform
from ctypes import byref, c_int64, c_size_t, c_uint64, c_void_p

import pytest
from torch_aclnn.loading.paths import libdir

from support.library import Library

SIZE_MAX = 2**64 - 1
HUGE = (SIZE_MAX, SIZE_MAX - 511, 2**63, 2**63 - 1, 2**48)
INVALID, OUT_OF_MEMORY = 107000, 207001
ND, FLOAT = 2, 0
BEFORE_6_11 = tuple(map(int, platform.release().split(".")[:2])) < (6, 11)


@pytest.fixture(scope="module")
def opapi(library):
    return Library(str(libdir() / "libopapi.so"))


@pytest.mark.parametrize("size", HUGE)
@pytest.mark.parametrize("function", ["aclrtMalloc", "aclrtMallocAlign32"])
def test_device_memory_that_nobody_has_is_refused(acl, function, size):
    address = c_void_p()
    assert getattr(acl, function)(byref(address), size, 0) == OUT_OF_MEMORY
    assert "out of memory: asked for" in acl.message() and not address.value


@pytest.mark.parametrize("size", HUGE)
def test_host_memory_that_nobody_has_is_refused(acl, size):
    address = c_void_p()
    assert acl.aclrtMallocHost(byref(address), size) == OUT_OF_MEMORY
    assert "out of memory: asked for" in acl.message()


@pytest.mark.parametrize("size", HUGE)
def test_range_that_nobody_has_is_refused(acl, size):
    address = c_void_p()
    assert acl.aclrtReserveMemAddress(byref(address), size, 0, None, 0) in (INVALID, OUT_OF_MEMORY)


@pytest.mark.parametrize("size", [SIZE_MAX, SIZE_MAX - 4095, 2**64 - 2**40])
def test_registered_range_that_wraps_is_refused(acl, size):
    memory, address = ctypes.create_string_buffer(64), c_void_p()
    assert acl.aclrtHostRegister(memory, size, 0, byref(address)) == INVALID
    assert "aclrtHostRegister: size: expected a range of addresses" in acl.message()


@pytest.mark.parametrize("count", [SIZE_MAX, 2**63, 4097])
def test_copies_and_fills_beyond_the_memory_are_refused(acl, stream, device_memory, count):
    other, limit, device = ctypes.create_string_buffer(4096), SIZE_MAX, device_memory
    calls = (
        acl.aclrtMemcpy(device, limit, other, count, 1),
        acl.aclrtMemcpy(other, limit, device, count, 2),
        acl.aclrtMemcpyAsync(device, limit, other, count, 1, stream),
        acl.aclrtMemset(device, limit, 0, count),
        acl.aclrtMemsetAsync(device, limit, 0, count, stream),
    )
    assert calls == (INVALID,) * 5


@pytest.mark.parametrize(
    "hole", ["munmap", pytest.param("mprotect", marks=pytest.mark.skipif(BEFORE_6_11, reason="the system cannot be asked"))]
)
def test_memory_with_a_hole_is_refused(acl, hole):
    libc, page = ctypes.CDLL(None), mmap.PAGESIZE
    libc.mmap.restype = c_void_p
    area = libc.mmap(None, c_size_t(3 * page), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, c_int64(0))
    assert getattr(libc, hole)(c_void_p(area + page), c_size_t(page), 0) == 0
    size = 3 * page
    assert acl.aclrtMemset(area, size, 0, size) == INVALID and "where the process has no such memory" in acl.message()
    assert libc.munmap(c_void_p(area), c_size_t(size)) == 0


@pytest.mark.parametrize("size", [2**20 + 1, 2**33, 2**60, 2**61, 2**63, SIZE_MAX])
@pytest.mark.parametrize("kind", ["IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList"])
def test_lengths_that_nobody_means_are_refused(acl, opapi, kind, size):
    source = (c_int64 * 4)()
    assert getattr(opapi, f"aclCreate{kind}")(source, size) is None
    assert f"aclCreate{kind}: size: expected at most 1048576, got {size}" in acl.message()


@pytest.mark.parametrize("rank", [17, 2**32, 2**63, SIZE_MAX])
def test_ranks_that_no_tensor_has_are_refused(acl, opapi, rank):
    dims = (c_int64 * 17)(*[1] * 17)
    for view, storage in ((rank, 1), (1, rank)):
        handle = opapi.aclCreateTensor(dims, view, FLOAT, None, 0, ND, dims, storage, None)
        assert handle is None
        assert "aclCreateTensor: viewDimsNum and storageDimsNum: expected at most 16" in acl.message()


@pytest.mark.parametrize("sizes", [(2**31, 2**32, 2), (2**62, 4), (2**63 - 1, 2**63 - 1), (-1, -1), (2**61 + 1, 0), (-(2**63), -1)])
def test_operator_refuses_sizes_that_cannot_be_counted(acl, opapi, device_memory, sizes):
    """The contiguous strides of such a shape wrap when the handle is made; the operator must not take them."""
    shape = (c_int64 * (len(sizes) + 1))(1, *sizes)
    one = (c_int64 * 1)(1024)
    tensors = [c_void_p(opapi.aclCreateTensor(shape, len(shape), FLOAT, None, 0, ND, one, 1, device_memory)) for _ in range(3)]
    size, executor = c_uint64(), c_void_p()
    assert opapi.aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize(*tensors, byref(size), byref(executor)) == 161002
    assert not executor.value
    assert all(opapi.aclDestroyTensor(tensor) == 0 for tensor in tensors)
