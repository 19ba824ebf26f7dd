"""Device memory: its budget, its bounds, and copies in all directions."""

import ctypes
from ctypes import byref, c_size_t, c_void_p

import pytest

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = range(5)


def memory_info(acl) -> tuple[int, int]:
    free, total = c_size_t(), c_size_t()
    acl.ok("aclrtGetMemInfo", 1, byref(free), byref(total))
    return free.value, total.value


@pytest.mark.parametrize("size", [1, 33, 4096, (2 << 20) - 1, 2 << 20, (20 << 20) + 1])
def test_allocation_is_aligned_counted_and_given_back(acl, size):
    before, total = memory_info(acl)
    address = acl.create("aclrtMalloc", size, 0)
    assert address % 512 == 0
    assert memory_info(acl) == (before - size, total)
    acl.ok("aclrtMemset", address, size, 1, size)
    acl.ok("aclrtFree", address)
    assert memory_info(acl) == (before, total)


def test_unknown_kind_of_memory_is_refused(acl):
    for attribute in (-1, 10):
        places = byref(c_size_t()), byref(c_size_t())
        acl.refuses(107000, "attr: expected a value of aclrtMemAttr", "aclrtGetMemInfo", attribute, *places)


class MallocAttribute(ctypes.Structure):
    _fields_ = [("attr", ctypes.c_int), ("value", ctypes.c_uint32 * 2)]


class MallocConfig(ctypes.Structure):
    _fields_ = [("attrs", ctypes.POINTER(MallocAttribute)), ("numAttrs", c_size_t)]


def test_host_memory_with_attributes(acl):
    """The attributes' order is that of aclrtMallocAttrType: module, device, one address for both sides."""
    allocate = acl.aclrtMallocHostWithCfg
    for attributes in ((), (1,), (3,), (1, 3)):
        values = (MallocAttribute * 2)(*(MallocAttribute(attribute, (1, 0)) for attribute in attributes))
        address = c_void_p()
        assert allocate(byref(address), 100, byref(MallocConfig(values, len(attributes)))) == 0, acl.message()
        assert address.value % 4096 == 0
        acl.ok("aclrtFreeHost", address.value)
    assert allocate(byref(address), 100, None) == 0
    acl.ok("aclrtFreeHost", address.value)
    for attribute, expected in ((2, "cfg: expected the current device, 0, got 1"), (4, "cfg: expected attributes in 0..3, got 4")):
        value = MallocAttribute(attribute, (1, 0))
        assert allocate(byref(address), 100, byref(MallocConfig(ctypes.pointer(value), 1))) == 107000
        assert expected in acl.message()


def test_registered_host_memory_has_one_address(acl):
    """The second form registers it, and its address is asked for apart."""
    address, seen = acl.create("aclrtMallocHost", 8192), c_void_p()
    register, pointer = acl.aclrtHostRegisterV2, acl.aclrtHostGetDevicePointer
    for flag in (0, 4, 8, 2 | 4):
        assert register(address, 64, flag) == 107000
    assert pointer(address, byref(seen), 0) == 107000
    assert register(address, 4096, 2 | 0x10000000) == 0
    assert pointer(address, byref(seen), 0) == 0 and seen.value == address
    acl.ok("aclrtHostUnregister", address)
    acl.ok("aclrtFreeHost", address)


def test_out_of_memory_says_how_much(run_engine):
    ended = run_engine(
        "address = ctypes.c_void_p(); acl.aclrtSetDevice(0)\n"
        "for size in (3, 2, 1): print(acl.aclrtMalloc(ctypes.byref(address), size << 20, 0), message())",
        TORCH_ACLNN_HOST_MEMORY="4M",
    )
    first, second, third = ended.stdout.splitlines()
    assert (first, third) == ("0 ", "0 ")
    assert second.startswith("207001 aclrtMalloc: device 0 is out of memory: asked for 2.00 MiB, free 1.00 MiB of 4.00 MiB")


def test_absurd_size_is_out_of_memory(acl):
    acl.refuses(207001, "out of memory", "aclrtMalloc", byref(c_void_p()), 2**64 - 1, 0)


@pytest.mark.parametrize("name", ["aclrtMalloc", "aclrtMallocHost"])
def test_nothing_to_allocate_is_refused(acl, name):
    policy = [0] if name == "aclrtMalloc" else []
    acl.refuses(107000, "size: expected at least 1, got 0", name, byref(c_void_p()), 0, *policy)
    acl.refuses(100000, "expected a value, got null", name, None, 64, *policy)


def test_memory_is_freed_once_and_by_its_start(acl):
    address = acl.create("aclrtMalloc", 256, 0)
    acl.refuses(107000, "aclrtMalloc", "aclrtFree", address + 64)
    acl.ok("aclrtFree", address)
    acl.refuses(107000, "has not been freed", "aclrtFree", address)
    acl.refuses(100000, "expected a value, got null", "aclrtFree", None)


def test_host_memory_is_not_device_memory(acl):
    address = acl.create("aclrtMallocHost", 256)
    assert address % 64 == 0
    acl.refuses(107000, "aclrtMalloc", "aclrtFree", address)
    acl.ok("aclrtFreeHost", address)
    acl.refuses(107000, "has not been freed", "aclrtFreeHost", address)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("kinds", [(HOST_TO_DEVICE, DEVICE_TO_DEVICE, DEVICE_TO_HOST), (DEFAULT, DEFAULT, DEFAULT)])
def test_bytes_come_back_as_they_went(acl, stream, kinds, asynchronous):
    content = bytes(range(256)) * 16
    source, target = ctypes.create_string_buffer(content, 4096), ctypes.create_string_buffer(4096)
    there, elsewhere = (acl.create("aclrtMalloc", 4096, 0) for _ in range(2))
    route = [ctypes.addressof(source), there, elsewhere, ctypes.addressof(target)]
    for kind, src, dst in zip(kinds, route, route[1:], strict=False):
        copy = ("aclrtMemcpyAsync", dst, 4096, src, 4096, kind, stream)
        acl.ok(*(copy if asynchronous else ("aclrtMemcpy", *copy[1:-1])))
    acl.ok("aclrtSynchronizeStream", stream)
    assert target.raw == content
    for address in (there, elsewhere):
        acl.ok("aclrtFree", address)


@pytest.mark.parametrize(("offset", "count", "fits"), [(0, 4096, True), (4095, 1, True), (1, 4096, False), (0, 4097, False)])
@pytest.mark.parametrize("kind", [HOST_TO_DEVICE, DEFAULT])
def test_copy_past_the_end_of_an_allocation_is_refused(acl, device_memory, kind, offset, count, fits):
    host = ctypes.addressof(buffer := ctypes.create_string_buffer(8192))
    to, back = (device_memory + offset, 8192, host, count), (host, 8192, device_memory + offset, count)
    back_kind = DEVICE_TO_HOST if kind == HOST_TO_DEVICE else DEFAULT
    fill = (device_memory + offset, 8192, 7, count)
    if fits:
        acl.ok("aclrtMemcpy", *to, kind)
        acl.ok("aclrtMemcpy", *back, back_kind)
        acl.ok("aclrtMemset", *fill)
    else:
        wanted, left = f"expected device memory for count {count}, got ", f", whose allocation goes on for {4096 - offset} bytes"
        for parameter, name, *arguments in (
            ("dst", "aclrtMemcpy", *to, kind),
            ("src", "aclrtMemcpy", *back, back_kind),
            ("dst", "aclrtMemcpyAsync", *to, kind, None),
            ("devPtr", "aclrtMemset", *fill),
        ):
            acl.refuses(107000, f"{parameter}: {wanted}{device_memory + offset:#x}{left}", name, *arguments)
    assert len(buffer) == 8192


@pytest.mark.parametrize(("kind", "parameter"), [
    (HOST_TO_DEVICE, "dst"),
    (DEVICE_TO_HOST, "src"),
    (DEVICE_TO_DEVICE, "dst"),
])  # fmt: skip
def test_host_memory_in_a_device_place_is_refused(acl, kind, parameter):
    one, other = (ctypes.create_string_buffer(64) for _ in range(2))
    copy = (ctypes.addressof(one), 64, ctypes.addressof(other), 64)
    acl.refuses(107000, f"{parameter}: expected device memory", "aclrtMemcpy", *copy, kind)
    acl.ok("aclrtMemcpy", *copy, HOST_TO_HOST)


def test_registered_host_memory_may_stand_in_a_device_place(acl, device_memory):
    buffer = ctypes.create_string_buffer(64)
    address = ctypes.addressof(buffer)
    seen = c_void_p()
    acl.ok("aclrtHostRegister", address, 64, 0, byref(seen))
    assert seen.value == address
    acl.ok("aclrtMemset", device_memory, 64, 5, 64)
    acl.ok("aclrtMemcpy", address, 64, device_memory, 64, DEVICE_TO_DEVICE)
    assert buffer.raw == b"\5" * 64
    acl.refuses(107000, "overlaps", "aclrtHostRegister", address + 32, 64, 0, byref(seen))
    acl.ok("aclrtHostUnregister", address)
    acl.refuses(107000, "expected device memory", "aclrtMemcpy", address, 64, device_memory, 64, DEVICE_TO_DEVICE)
    acl.refuses(107000, "registered memory", "aclrtHostUnregister", address)


@pytest.mark.parametrize(("change", "code", "words"), [
    ({"dst": None}, 100000, "dst: expected a value, got null"),
    ({"src": None}, 100000, "src: expected a value, got null"),
    ({"room": 63}, 107000, "destMax (63), got 64"),
    ({"kind": 5}, 107000, "got 5"),
    ({"kind": -1}, 107000, "got -1"),
])  # fmt: skip
def test_bad_copy_is_refused(acl, device_memory, change, code, words):
    buffer = ctypes.create_string_buffer(64)
    good = {"dst": device_memory, "room": 64, "src": ctypes.addressof(buffer), "count": 64, "kind": HOST_TO_DEVICE}
    acl.ok("aclrtMemcpy", *good.values())
    acl.refuses(code, words, "aclrtMemcpy", *(good | change).values())
    acl.refuses(code, words, "aclrtMemcpyAsync", *(good | change).values(), None)


def test_fill_larger_than_its_limit_is_refused(acl, device_memory):
    acl.refuses(107000, "maxCount (8), got 9", "aclrtMemset", device_memory, 8, 0, 9)
    acl.refuses(107000, "maxCount (8), got 9", "aclrtMemsetAsync", device_memory, 8, 0, 9, None)


@pytest.mark.parametrize("name", ["aclrtMemset", "aclrtMemcpy"])
def test_a_size_with_which_addresses_would_wrap_is_refused(acl, name):
    one, other = (ctypes.create_string_buffer(64) for _ in range(2))
    most = c_size_t(-1)
    arguments = {"aclrtMemset": (one, most, 1, most), "aclrtMemcpy": (one, most, other, most, HOST_TO_HOST)}[name]
    acl.refuses(107000, "bytes of memory", name, *arguments)
