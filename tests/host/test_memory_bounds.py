"""What is refused of addresses, always: freed and foreign ones, those beyond an allocation, and those on the wrong side of a copy."""

import ctypes
from ctypes import byref, c_void_p

import pytest

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = range(5)
KINDS = ["HOST_TO_HOST", "HOST_TO_DEVICE", "DEVICE_TO_HOST", "DEVICE_TO_DEVICE"]
HOST_SIDES = [(HOST_TO_HOST, "dst"), (HOST_TO_HOST, "src"), (HOST_TO_DEVICE, "src"), (DEVICE_TO_HOST, "dst")]


@pytest.fixture
def freed(acl):
    address = acl.create("aclrtMalloc", 256, 0)
    acl.ok("aclrtFree", address)
    return address


@pytest.fixture
def buffer():
    return ctypes.create_string_buffer(4096)


@pytest.mark.parametrize(("kind", "parameter"), HOST_SIDES)
def test_device_memory_in_a_host_place_is_refused(acl, device_memory, buffer, kind, parameter):
    host = ctypes.addressof(buffer)
    dst_on_device, src_on_device = kind in (1, 3), kind in (2, 3)
    dst = device_memory if dst_on_device or parameter == "dst" else host
    src = device_memory if src_on_device or parameter == "src" else host
    words = (
        f"{parameter}: expected host memory, as kind is ACL_MEMCPY_{KINDS[kind]}, got {device_memory:#x}, which is an allocation of 4096"
    )
    acl.refuses(107000, words, "aclrtMemcpy", dst, 64, src, 64, kind)
    acl.refuses(107000, words, "aclrtMemcpyAsync", dst, 64, src, 64, kind, None)


def test_freed_memory_is_refused_by_name(acl, freed, buffer):
    host = ctypes.addressof(buffer)
    for parameter, name, *arguments in (
        ("devPtr", "aclrtFree", freed),
        ("devPtr", "aclrtMemset", freed, 64, 0, 64),
        ("devPtr", "aclrtMemsetAsync", freed, 64, 0, 64, None),
        ("dst", "aclrtMemcpy", freed, 64, host, 64, HOST_TO_DEVICE),
        ("dst", "aclrtMemcpy", freed, 64, host, 64, DEFAULT),
        ("src", "aclrtMemcpy", host, 64, freed, 64, DEFAULT),
        ("src", "aclrtMemcpyAsync", host, 64, freed, 64, DEVICE_TO_HOST, None),
        ("src", "aclrtMemcpy", host, 64, freed, 64, HOST_TO_HOST),
    ):
        acl.refuses(107000, f"{parameter}: expected ", name, *arguments)
        assert getattr(acl, name)(*arguments) == 107000
        assert acl.message().endswith(f"got {freed:#x}, which is memory that was freed")


def test_memory_that_is_freed_again_after_thousands_of_others_is_known(acl):
    """The engine forgets the oldest of 4096 places, which here is the one that is freed once more at that moment."""

    def allocate_and_free(size: int) -> int:
        address = acl.create("aclrtMalloc", size, 0)
        acl.ok("aclrtFree", address)
        return address

    # malloc gives small places in turn: after how many the first one comes again.
    places = [allocate_and_free(256)]
    while len(places) < 100 and places[0] not in places[1:]:
        places.append(allocate_and_free(256))
    turn = len(places) - 1
    for _ in range(4096 - turn):
        allocate_and_free(64 << 20)  # large blocks reuse none of the small ones
    last = [allocate_and_free(256) for _ in range(turn)][-1]
    if last != places[-1]:
        pytest.skip("malloc gives places in another order")
    assert acl.aclrtFree(last) == 107000
    assert acl.message().endswith(f"got {last:#x}, which is memory that was freed")


def test_address_within_an_allocation_is_not_freed(acl, device_memory):
    words = f"got {device_memory + 64:#x}, which is 64 bytes into an allocation of 4096 bytes from aclrtMalloc"
    acl.refuses(107000, words, "aclrtFree", device_memory + 64)


def test_foreign_address_is_not_freed(acl, buffer, host_memory):
    for name, address in (("aclrtFree", ctypes.addressof(buffer)), ("aclrtFree", host_memory)):
        acl.refuses(107000, "which is in no allocation of a device", name, address)
    acl.refuses(107000, "hostPtr: expected memory from aclrtMallocHost", "aclrtFreeHost", ctypes.addressof(buffer))


def test_freed_memory_stays_gone_until_many_others_came(acl):
    addresses = [acl.create("aclrtMalloc", 4096, 0) for _ in range(3)]
    acl.ok("aclrtFree", addresses[1])
    others = [acl.create("aclrtMalloc", 4096, 0) for _ in range(20)]
    assert addresses[1] not in others
    for address in (addresses[0], addresses[2], *others):
        acl.ok("aclrtFree", address)


def test_page_locked_memory_has_an_end(acl, host_memory, device_memory, buffer):
    words = "host memory for count 4097, got"
    acl.refuses(107000, "dst: expected " + words, "aclrtMemcpy", host_memory, 8192, ctypes.addressof(buffer), 4097, HOST_TO_HOST)
    larger = acl.create("aclrtMalloc", 8192, 0)
    acl.refuses(107000, "src: expected " + words, "aclrtMemcpyAsync", larger, 8192, host_memory, 4097, HOST_TO_DEVICE, None)
    acl.ok("aclrtFree", larger)


def test_a_part_of_host_memory_may_be_registered(acl, device_memory, buffer):
    seen = c_void_p()
    acl.ok("aclrtHostRegister", ctypes.addressof(buffer), 64, 0, byref(seen))
    acl.ok("aclrtMemcpy", device_memory, 4096, ctypes.addressof(buffer), 4096, HOST_TO_DEVICE)
    acl.refuses(107000, "goes on for 64", "aclrtMemcpy", seen.value, 4096, device_memory, 128, DEVICE_TO_DEVICE)
    acl.ok("aclrtHostUnregister", ctypes.addressof(buffer))


def test_device_memory_cannot_be_registered(acl, device_memory):
    acl.refuses(107000, "ptr: expected host memory, got", "aclrtHostRegister", device_memory, 64, 0, byref(c_void_p()))


def test_work_on_a_device_that_was_reset_is_refused(run_engine):
    ended = run_engine(
        "acl.aclrtSetDevice(0); host = ctypes.create_string_buffer(64)\n"
        "address, stream = acl.create('aclrtMalloc', 64, 0), acl.create('aclrtCreateStream'); acl.aclrtResetDevice(0)\n"
        "print(acl.aclrtMemcpyAsync(address, 64, host, 64, 1, stream), message())\n"
        "print(acl.aclrtMemsetAsync(address, 64, 0, 64, stream), message())\n"
    )
    lines = ended.stdout.splitlines()
    assert len(lines) == 2, ended.stderr
    assert all(line.startswith("107002 ") and "which has been reset" in line for line in lines), lines


def test_registered_memory_ends_with_the_allocation(acl):
    host, device = acl.create("aclrtMallocHost", 12000), c_void_p()
    assert host % 4096 == 0
    acl.refuses(107000, "size: expected at most 12000 bytes", "aclrtHostRegister", host, 12288, 0, byref(device))
    acl.ok("aclrtHostRegister", host, 12000, 0, byref(device))
    acl.ok("aclrtHostUnregister", host)
    acl.ok("aclrtFreeHost", host)


@pytest.mark.parametrize("released", [False, True])
def test_reserved_addresses_are_no_memory(acl, buffer, released):
    address = acl.create("aclrtReserveMemAddress", 2 << 20, 0, None, 0)
    if released:
        acl.ok("aclrtReleaseMemAddress", address)
    host, words = ctypes.addressof(buffer), "expected 16 bytes of memory"
    acl.refuses(107000, f"devPtr: {words}", "aclrtMemset", address, 16, 0, 16)
    acl.refuses(107000, f"dst: {words}", "aclrtMemcpy", address, 16, host, 16, DEFAULT)
    acl.refuses(107000, f"src: {words}", "aclrtMemcpyAsync", host, 16, address, 16, HOST_TO_HOST, None)
    if not released:
        acl.ok("aclrtReleaseMemAddress", address)
