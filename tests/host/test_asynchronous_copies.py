"""Copies and fills with TORCH_ACLNN_HOST_MODE=async: when they are done, and what becomes of memory that is freed before."""

from textwrap import dedent

import pytest

START = """
import threading, time
V, S, I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
for name, types in {
    "aclrtFree": [V], "aclrtFreeHost": [V], "aclrtMallocHost": [ctypes.POINTER(V), S], "aclrtSynchronizeStream": [V],
    "aclrtHostRegister": [V, ctypes.c_uint64, I, ctypes.POINTER(V)], "aclrtHostUnregister": [V], "aclrtLaunchHostFunc": [V, V, V],
    "aclrtMemcpy": [V, S, V, S, I], "aclrtMemcpyAsync": [V, S, V, S, I, V], "aclrtMemset": [V, S, I, S],
    "aclrtMemsetAsync": [V, S, I, S, V], "aclrtCreateStream": [ctypes.POINTER(V)],
}.items():
    getattr(acl, name).argtypes = types
def ok(code):
    assert code == 0, message()
def create(name, *arguments):
    made = V()
    ok(getattr(acl, name)(ctypes.byref(made), *arguments))
    return made.value
ok(acl.aclInit(None)); ok(acl.aclrtSetDevice(0))
SIZE = 4096
stream, device, locked = create("aclrtCreateStream"), create("aclrtMalloc", SIZE, 0), create("aclrtMallocHost", SIZE)
ok(acl.aclrtMemset(device, SIZE, 1, SIZE))
def content(address, size=4):
    target = ctypes.create_string_buffer(size)
    ok(acl.aclrtMemcpy(target, size, address, size, 4))
    return target.raw
gate = threading.Event()
wait = ctypes.CFUNCTYPE(None, V)(lambda _: gate.wait())
def block():
    gate.clear()
    ok(acl.aclrtLaunchHostFunc(stream, ctypes.cast(wait, V), None))
"""


@pytest.fixture
def run(run_engine):
    """Return a function that runs code on an asynchronous engine: block() holds the stream until gate.set()."""

    def run(code, mode="async"):
        ended = run_engine(START + dedent(code) + "\nprint('done')\n", TORCH_ACLNN_HOST_MODE=mode)
        assert ended.stdout.endswith("done\n"), ended.stderr
        return ended

    return run


@pytest.mark.parametrize("kind", [1, 4])
def test_copy_from_pageable_memory_is_done_when_the_call_returns(run, kind):
    run(f"""
        host = ctypes.create_string_buffer(b"A" * SIZE, SIZE)
        block()
        threading.Timer(0.2, gate.set).start()
        ok(acl.aclrtMemcpyAsync(device, SIZE, host, SIZE, {kind}, stream))
        assert gate.is_set()
        ctypes.memset(host, 0, SIZE)
        ok(acl.aclrtSynchronizeStream(stream))
        assert content(device) == b"AAAA"
    """)


def test_copy_to_pageable_memory_is_done_when_the_call_returns(run):
    run("""
        host = ctypes.create_string_buffer(SIZE)
        block()
        threading.Timer(0.2, gate.set).start()
        ok(acl.aclrtMemcpyAsync(host, SIZE, device, SIZE, 2, stream))
        assert host.raw == bytes([1]) * SIZE
    """)


@pytest.mark.parametrize("memory", ["locked", "registered"])
def test_copy_of_page_locked_memory_is_done_later(run, memory):
    run(f"""
        registered = ctypes.create_string_buffer(SIZE)
        ok(acl.aclrtHostRegister(registered, SIZE, 0, ctypes.byref(V())))
        ctypes.memset({memory}, 5, SIZE)
        block()
        ok(acl.aclrtMemcpyAsync(device, SIZE, {memory}, SIZE, 1, stream))
        assert not gate.is_set()
        ctypes.memset({memory}, 6, SIZE)
        gate.set()
        ok(acl.aclrtSynchronizeStream(stream))
        assert content(device) == bytes([6]) * 4
        block()
        ok(acl.aclrtMemcpyAsync({memory}, SIZE, device, SIZE, 2, stream))
        ok(acl.aclrtMemsetAsync(device, SIZE, 9, SIZE, stream))
        gate.set()
        ok(acl.aclrtSynchronizeStream(stream))
        assert ctypes.string_at({memory}, 4) == bytes([6]) * 4 and content(device) == bytes([9]) * 4
    """)


LATE = {
    "source": ("aclrtMemcpyAsync", "src", "locked, SIZE, other, SIZE, 2", "aclrtFree(other)"),
    "target": ("aclrtMemcpyAsync", "dst", "other, SIZE, locked, SIZE, 1", "aclrtFree(other)"),
    "filled": ("aclrtMemsetAsync", "devPtr", "other, SIZE, 0, SIZE", "aclrtFree(other)"),
    "page-locked source": ("aclrtMemcpyAsync", "src", "device, SIZE, locked, SIZE, 1", "aclrtFreeHost(locked)"),
    "page-locked target": ("aclrtMemcpyAsync", "dst", "locked, SIZE, device, SIZE, 2", "aclrtFreeHost(locked)"),
}


@pytest.mark.parametrize("case", LATE)
@pytest.mark.parametrize("mode", ["async", "async, isolate"])
def test_memory_that_is_freed_before_the_work_is_an_error_that_names_it(run, case, mode):
    name, parameter, arguments, free = LATE[case]
    ended = run(f"""
        other = create("aclrtMalloc", SIZE, 0)
        block()
        ok(acl.{name}({arguments}, stream))
        ok(acl.{free})
        gate.set()
        print(acl.aclrtSynchronizeStream(stream), message())
        assert content(device) == bytes([1]) * 4
    """, mode=mode)  # fmt: skip
    line = ended.stdout.splitlines()[0]
    assert line.startswith("507015 ") and f"{name}: {parameter}: expected 4096 bytes of memory, got 0x" in line
    assert line.endswith("which was freed after the launch")


def test_freeing_other_memory_does_no_harm(run):
    run("""
        other = create("aclrtMalloc", SIZE, 0)
        block()
        ok(acl.aclrtMemcpyAsync(device, SIZE, locked, SIZE, 1, stream))
        ok(acl.aclrtFree(other))
        gate.set()
        ok(acl.aclrtSynchronizeStream(stream))
    """)
