"""Address ranges that are given memory piece by piece."""

import ctypes
from ctypes import byref, c_size_t, c_void_p

import pytest

from support.runtime import PhysicalProperties as Properties

PIECE = 2 << 20


def free_memory(acl) -> int:
    free = c_size_t()
    acl.ok("aclrtGetMemInfo", 1, byref(free), byref(c_size_t()))
    return free.value


@pytest.fixture
def addresses(acl):
    address = acl.create("aclrtReserveMemAddress", 4 * PIECE, 0, None, 1)
    yield address
    acl.ok("aclrtReleaseMemAddress", address)


@pytest.fixture
def piece(acl):
    handle = acl.create("aclrtMallocPhysical", PIECE, byref(Properties()), 0)
    yield handle
    acl.ok("aclrtFreePhysical", handle)


def test_pieces_side_by_side_are_one_memory(acl, addresses):
    before = free_memory(acl)
    pieces = [acl.create("aclrtMallocPhysical", PIECE, byref(Properties()), 0) for _ in range(2)]
    assert free_memory(acl) == before - 2 * PIECE
    for place, handle in zip((addresses, addresses + PIECE), pieces, strict=True):
        acl.ok("aclrtMapMem", place, PIECE, 0, handle, 0)
    acl.ok("aclrtMemset", addresses, 2 * PIECE, 9, 2 * PIECE)
    target = ctypes.create_string_buffer(16)
    acl.ok("aclrtMemcpy", target, 16, addresses + PIECE - 8, 16, 2)
    assert target.raw == b"\t" * 16
    acl.refuses(107000, "goes on for 16 bytes", "aclrtMemcpy", target, 17, addresses + 2 * PIECE - 16, 17, 2)
    for place, handle in zip((addresses, addresses + PIECE), pieces, strict=True):
        acl.ok("aclrtUnmapMem", place)
        acl.ok("aclrtFreePhysical", handle)
    assert free_memory(acl) == before


def test_memory_keeps_its_content_when_it_moves(acl, addresses, piece):
    target = ctypes.create_string_buffer(4)
    acl.ok("aclrtMapMem", addresses, PIECE, 0, piece, 0)
    acl.ok("aclrtMemset", addresses, PIECE, 65, PIECE)
    acl.ok("aclrtUnmapMem", addresses)
    acl.refuses(107000, "src: expected device memory", "aclrtMemcpy", target, 4, addresses, 4, 2)
    acl.ok("aclrtMapMem", addresses + PIECE, PIECE, 0, piece, 0)
    acl.ok("aclrtMemcpy", target, 4, addresses + PIECE, 4, 2)
    assert target.raw == b"AAAA"
    acl.ok("aclrtUnmapMem", addresses + PIECE)


def test_misplaced_mapping_is_refused(acl, addresses, piece):
    acl.refuses(107000, "in a range from aclrtReserveMemAddress", "aclrtMapMem", addresses + 4 * PIECE, PIECE, 0, piece, 0)
    acl.refuses(107000, "the whole of the physical memory", "aclrtMapMem", addresses, PIECE // 2, 0, piece, 0)
    acl.refuses(107017, "live physical memory", "aclrtMapMem", addresses, PIECE, 0, 1234, 0)
    acl.ok("aclrtMapMem", addresses, PIECE, 0, piece, 0)
    acl.refuses(107000, "already has memory", "aclrtMapMem", addresses, PIECE, 0, piece, 0)
    acl.refuses(107000, "still has memory", "aclrtReleaseMemAddress", addresses)
    acl.refuses(107000, "aclrtMalloc", "aclrtFree", addresses)
    acl.ok("aclrtUnmapMem", addresses)
    acl.refuses(107000, "aclrtMapMem", "aclrtUnmapMem", addresses)


def test_physical_memory_names_its_device(acl):
    properties = Properties(device=99)
    acl.refuses(107001, "got 99", "aclrtMallocPhysical", byref(c_void_p()), PIECE, byref(properties), 0)


def test_unmapped_addresses_are_refused_until_the_range_is_released(acl, piece):
    addresses = acl.create("aclrtReserveMemAddress", PIECE, 0, None, 1)
    acl.ok("aclrtMapMem", addresses, PIECE, 0, piece, 0)
    acl.ok("aclrtUnmapMem", addresses)
    target = ctypes.create_string_buffer(4)
    for name, *arguments in (
        ("aclrtMemset", addresses + 8, 4, 0, 4),
        ("aclrtMemcpy", target, 4, addresses + 8, 4, 4),
        ("aclrtMemcpy", target, 4, addresses + 8, 4, 0),
    ):
        acl.refuses(107000, f"got {addresses + 8:#x}, which is 8 bytes into memory that was freed", name, *arguments)
    acl.ok("aclrtReleaseMemAddress", addresses)


def test_the_granularity_is_a_unit_of_physical_memory(acl):
    least, recommended = c_size_t(), c_size_t()
    acl.ok("aclrtMemGetAllocationGranularity", byref(Properties()), 0, byref(least))
    acl.ok("aclrtMemGetAllocationGranularity", byref(Properties()), 1, byref(recommended))
    assert recommended.value == 2 << 20 and recommended.value % least.value == 0
    acl.ok("aclrtFreePhysical", acl.create("aclrtMallocPhysical", least.value, byref(Properties()), 0))
    acl.refuses(100000, "option: expected 0 (minimum)", "aclrtMemGetAllocationGranularity", byref(Properties()), 2, byref(least))
    acl.refuses(107001, "got 99", "aclrtMemGetAllocationGranularity", byref(Properties(device=99)), 0, byref(least))
    acl.refuses(100000, "prop", "aclrtMemGetAllocationGranularity", None, 0, byref(least))
