"""Address ranges that are given memory piece by piece."""

import ctypes
from ctypes import byref, c_size_t, c_void_p

import pytest

from support.runtime import PhysicalProperties as Properties

PIECE = 2 << 20


def free_memory(ascendcl) -> int:
    free = c_size_t()
    ascendcl.ok("aclrtGetMemInfo", 1, byref(free), byref(c_size_t()))
    return free.value


@pytest.fixture
def addresses(ascendcl):
    address = ascendcl.create("aclrtReserveMemAddress", 4 * PIECE, 0, None, 1)
    yield address
    ascendcl.ok("aclrtReleaseMemAddress", address)


@pytest.fixture
def piece(ascendcl):
    handle = ascendcl.create("aclrtMallocPhysical", PIECE, byref(Properties()), 0)
    yield handle
    ascendcl.ok("aclrtFreePhysical", handle)


def test_pieces_side_by_side_are_one_memory(ascendcl, addresses):
    before = free_memory(ascendcl)
    pieces = [ascendcl.create("aclrtMallocPhysical", PIECE, byref(Properties()), 0) for _ in range(2)]
    assert free_memory(ascendcl) == before - 2 * PIECE
    for place, handle in zip((addresses, addresses + PIECE), pieces, strict=True):
        ascendcl.ok("aclrtMapMem", place, PIECE, 0, handle, 0)
    ascendcl.ok("aclrtMemset", addresses, 2 * PIECE, 9, 2 * PIECE)
    target = ctypes.create_string_buffer(16)
    ascendcl.ok("aclrtMemcpy", target, 16, addresses + PIECE - 8, 16, 2)
    assert target.raw == b"\t" * 16
    ascendcl.refuses(107000, "goes on for 16 bytes", "aclrtMemcpy", target, 17, addresses + 2 * PIECE - 16, 17, 2)
    for place, handle in zip((addresses, addresses + PIECE), pieces, strict=True):
        ascendcl.ok("aclrtUnmapMem", place)
        ascendcl.ok("aclrtFreePhysical", handle)
    assert free_memory(ascendcl) == before


def test_memory_keeps_its_content_when_it_moves(ascendcl, addresses, piece):
    target = ctypes.create_string_buffer(4)
    ascendcl.ok("aclrtMapMem", addresses, PIECE, 0, piece, 0)
    ascendcl.ok("aclrtMemset", addresses, PIECE, 65, PIECE)
    ascendcl.ok("aclrtUnmapMem", addresses)
    ascendcl.refuses(107000, "src: expected device memory", "aclrtMemcpy", target, 4, addresses, 4, 2)
    ascendcl.ok("aclrtMapMem", addresses + PIECE, PIECE, 0, piece, 0)
    ascendcl.ok("aclrtMemcpy", target, 4, addresses + PIECE, 4, 2)
    assert target.raw == b"AAAA"
    ascendcl.ok("aclrtUnmapMem", addresses + PIECE)


def test_misplaced_mapping_is_refused(ascendcl, addresses, piece):
    ascendcl.refuses(107000, "in a range from aclrtReserveMemAddress", "aclrtMapMem", addresses + 4 * PIECE, PIECE, 0, piece, 0)
    ascendcl.refuses(107000, "the whole of the physical memory", "aclrtMapMem", addresses, PIECE // 2, 0, piece, 0)
    ascendcl.refuses(107017, "live physical memory", "aclrtMapMem", addresses, PIECE, 0, 1234, 0)
    ascendcl.ok("aclrtMapMem", addresses, PIECE, 0, piece, 0)
    ascendcl.refuses(107000, "already has memory", "aclrtMapMem", addresses, PIECE, 0, piece, 0)
    ascendcl.refuses(107000, "still has memory", "aclrtReleaseMemAddress", addresses)
    ascendcl.refuses(107000, "aclrtMalloc", "aclrtFree", addresses)
    ascendcl.ok("aclrtUnmapMem", addresses)
    ascendcl.refuses(107000, "aclrtMapMem", "aclrtUnmapMem", addresses)


def test_physical_memory_names_its_device(ascendcl):
    properties = Properties(device=99)
    ascendcl.refuses(107001, "got 99", "aclrtMallocPhysical", byref(c_void_p()), PIECE, byref(properties), 0)


def test_unmapped_addresses_are_refused_until_the_range_is_released(ascendcl, piece):
    addresses = ascendcl.create("aclrtReserveMemAddress", PIECE, 0, None, 1)
    ascendcl.ok("aclrtMapMem", addresses, PIECE, 0, piece, 0)
    ascendcl.ok("aclrtUnmapMem", addresses)
    target = ctypes.create_string_buffer(4)
    for name, *arguments in (
        ("aclrtMemset", addresses + 8, 4, 0, 4),
        ("aclrtMemcpy", target, 4, addresses + 8, 4, 4),
        ("aclrtMemcpy", target, 4, addresses + 8, 4, 0),
    ):
        ascendcl.refuses(107000, f"got {addresses + 8:#x}, which is 8 bytes into memory that was freed", name, *arguments)
    ascendcl.ok("aclrtReleaseMemAddress", addresses)


def test_the_granularity_is_a_unit_of_physical_memory(ascendcl):
    least, recommended = c_size_t(), c_size_t()
    ascendcl.ok("aclrtMemGetAllocationGranularity", byref(Properties()), 0, byref(least))
    ascendcl.ok("aclrtMemGetAllocationGranularity", byref(Properties()), 1, byref(recommended))
    assert recommended.value == 2 << 20 and recommended.value % least.value == 0
    ascendcl.ok("aclrtFreePhysical", ascendcl.create("aclrtMallocPhysical", least.value, byref(Properties()), 0))
    ascendcl.refuses(100000, "option: expected 0 (minimum)", "aclrtMemGetAllocationGranularity", byref(Properties()), 2, byref(least))
    ascendcl.refuses(107001, "got 99", "aclrtMemGetAllocationGranularity", byref(Properties(device=99)), 0, byref(least))
    ascendcl.refuses(100000, "prop", "aclrtMemGetAllocationGranularity", None, 0, byref(least))
