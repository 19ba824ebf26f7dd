"""Copies and fills with TORCH_ACLNN_HOST_MODE=async: when they are done, and what becomes of memory that is freed before."""

from textwrap import dedent

import pytest

START = """
import threading
acl.ok("aclInit", None); acl.ok("aclrtSetDevice", 0)
SIZE = 4096
stream, device, locked = acl.create("aclrtCreateStream"), acl.create("aclrtMalloc", SIZE, 0), acl.create("aclrtMallocHost", SIZE)
acl.ok("aclrtMemset", device, SIZE, 1, SIZE)
gate = threading.Event()
wait = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: gate.wait())
def block():
    gate.clear()
    acl.ok("aclrtLaunchHostFunc", stream, wait, None)
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
        acl.ok("aclrtMemcpyAsync", device, SIZE, host, SIZE, {kind}, stream)
        assert gate.is_set()
        ctypes.memset(host, 0, SIZE)
        acl.ok("aclrtSynchronizeStream", stream)
        assert acl.read(device, 4) == b"AAAA"
    """)


def test_copy_to_pageable_memory_is_done_when_the_call_returns(run):
    run("""
        host = ctypes.create_string_buffer(SIZE)
        block()
        threading.Timer(0.2, gate.set).start()
        acl.ok("aclrtMemcpyAsync", host, SIZE, device, SIZE, 2, stream)
        assert host.raw == bytes([1]) * SIZE
    """)


@pytest.mark.parametrize("memory", ["locked", "registered"])
def test_copy_of_page_locked_memory_is_done_later(run, memory):
    run(f"""
        registered = ctypes.create_string_buffer(SIZE)
        acl.ok("aclrtHostRegister", registered, SIZE, 0, ctypes.byref(ctypes.c_void_p()))
        ctypes.memset({memory}, 5, SIZE)
        block()
        acl.ok("aclrtMemcpyAsync", device, SIZE, {memory}, SIZE, 1, stream)
        assert not gate.is_set()
        ctypes.memset({memory}, 6, SIZE)
        gate.set()
        acl.ok("aclrtSynchronizeStream", stream)
        assert acl.read(device, 4) == bytes([6]) * 4
        block()
        acl.ok("aclrtMemcpyAsync", {memory}, SIZE, device, SIZE, 2, stream)
        acl.ok("aclrtMemsetAsync", device, SIZE, 9, SIZE, stream)
        gate.set()
        acl.ok("aclrtSynchronizeStream", stream)
        assert ctypes.string_at({memory}, 4) == bytes([6]) * 4 and acl.read(device, 4) == bytes([9]) * 4
    """)


LATE = {
    "source": ("aclrtMemcpyAsync", "src", "locked, SIZE, other, SIZE, 2", '"aclrtFree", other'),
    "target": ("aclrtMemcpyAsync", "dst", "other, SIZE, locked, SIZE, 1", '"aclrtFree", other'),
    "filled": ("aclrtMemsetAsync", "devPtr", "other, SIZE, 0, SIZE", '"aclrtFree", other'),
    "page-locked source": ("aclrtMemcpyAsync", "src", "device, SIZE, locked, SIZE, 1", '"aclrtFreeHost", locked'),
    "page-locked target": ("aclrtMemcpyAsync", "dst", "locked, SIZE, device, SIZE, 2", '"aclrtFreeHost", locked'),
}


@pytest.mark.parametrize("case", LATE)
@pytest.mark.parametrize("mode", ["async", "async, isolate"])
def test_memory_that_is_freed_before_the_work_is_an_error_that_names_it(run, case, mode):
    name, parameter, arguments, free = LATE[case]
    ended = run(f"""
        other = acl.create("aclrtMalloc", SIZE, 0)
        block()
        acl.ok("{name}", {arguments}, stream)
        acl.ok({free})
        gate.set()
        print(acl.aclrtSynchronizeStream(stream), message())
        assert acl.read(device, 4) == bytes([1]) * 4
    """, mode=mode)  # fmt: skip
    line = ended.stdout.splitlines()[0]
    assert line.startswith("507015 ") and f"{name}: {parameter}: expected 4096 bytes of memory, got 0x" in line
    assert line.endswith("which was freed after the launch")


def test_freeing_other_memory_does_no_harm(run):
    run("""
        other = acl.create("aclrtMalloc", SIZE, 0)
        block()
        acl.ok("aclrtMemcpyAsync", device, SIZE, locked, SIZE, 1, stream)
        acl.ok("aclrtFree", other)
        gate.set()
        acl.ok("aclrtSynchronizeStream", stream)
    """)
