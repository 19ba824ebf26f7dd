"""Memory that one process makes and another one uses."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from ctypes import byref, c_int32, c_uint64, c_void_p, create_string_buffer
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import libdir

from support.runtime import PhysicalProperties, Runtime

PROGRAM = Path(__file__).parent / "programs" / "import_memory.py"
TO_ALL = 1
PIECE = 2 << 20


def imported(kind: str, which: bytes | int) -> list:
    """Import the memory in another process, which writes two bytes; return a code, and a message or the first four bytes before."""
    name = which.decode() if isinstance(which, bytes) else str(which)
    done = subprocess.run([sys.executable, "-S", PROGRAM, libdir(), kind, name], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def key_of(acl: Runtime, address: int, size: int = 4096, flags: int = TO_ALL) -> bytes:
    key = create_string_buffer(65)
    acl.ok("aclrtIpcMemGetExportKey", address, size, key, 65, flags)
    return key.value


@pytest.fixture
def pages(acl: Runtime) -> Iterator[int]:
    address = acl.create("aclrtMalloc", 8192, 0)
    acl.ok("aclrtMemset", address, 8192, 5, 8192)
    yield address
    acl.ok("aclrtFree", address)


def test_another_process_reads_and_writes_the_same_memory(acl, pages):
    key = key_of(acl, pages + 4096)
    assert imported("key", key) == [0, [5, 5, 5, 5]]
    assert acl.read(pages + 4094, 6) == b"\5\5\7\7\5\5"
    acl.ok("aclrtIpcMemClose", key)
    assert imported("key", key)[0] == 107000


def test_physical_memory_is_shared_by_its_number(acl):
    handle = acl.create("aclrtMallocPhysical", PIECE, byref(PhysicalProperties()), 0)
    address = acl.create("aclrtReserveMemAddress", PIECE, 0, None, 1)
    acl.ok("aclrtMapMem", address, PIECE, 0, handle, 0)
    acl.ok("aclrtMemset", address, PIECE, 3, PIECE)
    number = c_uint64()
    acl.ok("aclrtMemExportToShareableHandle", handle, 0, TO_ALL, byref(number))
    acl.refuses(107000, "not shared yet", "aclrtMemExportToShareableHandle", handle, 0, TO_ALL, byref(c_uint64()))
    acl.refuses(107000, "of another process", "aclrtMemImportFromShareableHandle", number, 0, byref(c_void_p()))
    assert imported("number", number.value) == [0, [3, 3, 3, 3]]
    assert acl.read(address, 4) == b"\7\7\3\3"
    acl.ok("aclrtUnmapMem", address)
    acl.ok("aclrtReleaseMemAddress", address)
    acl.ok("aclrtFreePhysical", handle)
    assert imported("number", number.value)[0] == 107000


def test_only_the_processes_that_are_named_may_use_it(acl, pages):
    key = key_of(acl, pages, flags=0)
    code, message = imported("key", key)
    assert code == 107000 and "which has not named this process" in message
    own = c_int32()
    acl.ok("aclrtDeviceGetBareTgid", byref(own))
    assert own.value == os.getpid()
    acl.ok("aclrtIpcMemSetImportPid", key, byref(own), 1)
    address = acl.create("aclrtIpcMemImportByKey", key, 1)
    assert acl.read(address, 2) == b"\5\5"
    acl.ok("aclrtIpcMemClose", key)


def test_freed_memory_is_shared_no_more(acl):
    address = acl.create("aclrtMalloc", 4096, 0)
    key = key_of(acl, address)
    acl.ok("aclrtFree", address)
    code, message = imported("key", key)
    assert code == 107000 and "shares no more" in message


def test_wrong_arguments_are_refused(acl, pages):
    key = create_string_buffer(65)
    for words, arguments in {
        "memory of aclrtMalloc": (id(key), 1, key, 65, 1),
        "a multiple of 4096": (pages + 8, 1, key, 65, 1),
        "a value in 1..8192": (pages, 8193, key, 65, 1),
        "len: expected 65": (pages, 1, key, 64, 1),
        "flags: expected 0 or 1": (pages, 1, key, 65, 2),
    }.items():
        acl.refuses(107000, words, "aclrtIpcMemGetExportKey", *arguments)
    for wrong in (b"", b"name", b"torch_aclnn:" + b"0" * 16 + b":" + b"0" * 16, b"torch_aclnn:" + b"f" * 16 + b":" + b"0" * 16):
        acl.refuses(107000, "key: expected", "aclrtIpcMemImportByKey", byref(c_void_p()), wrong, 0)
    acl.refuses(107000, "another process's", "aclrtIpcMemSetImportPid", b"torch_aclnn:" + b"0" * 16 + b":" + b"0" * 16, byref(c_int32()), 1)


def test_a_key_of_a_process_that_has_ended_is_refused(acl, run_engine):
    key = run_engine(
        "acl.aclrtSetDevice(0); key = ctypes.create_string_buffer(65)\n"
        "acl.ok('aclrtIpcMemGetExportKey', acl.create('aclrtMalloc', 4096, 0), 4096, key, 65, 1)\n"
        "print(key.value.decode())"
    ).stdout.strip()
    acl.refuses(107000, "whose memory cannot be opened", "aclrtIpcMemImportByKey", byref(c_void_p()), key.encode(), 0)


def test_a_key_has_its_documented_size(acl, pages):
    place = create_string_buffer(b"x" * 100, 100)
    acl.ok("aclrtIpcMemGetExportKey", pages, 4096, place, 4096, TO_ALL)
    assert place.raw[64:] == b"\0" + b"x" * 35


def test_a_forked_process_neither_shares_nor_frees(run_engine):
    done = run_engine(
        "import os; acl.aclInit(None); acl.aclrtSetDevice(0)\n"
        "p, key, place = acl.create('aclrtMalloc', 4096, 0), ctypes.create_string_buffer(65), ctypes.byref(ctypes.c_void_p())\n"
        "if os.fork() == 0:\n"
        "    made = acl.aclrtReserveMemAddress(place, 4096, 0, None, 0), acl.aclrtMallocHost(place, 64), acl.aclrtCreateEvent(place)\n"
        "    print(acl.aclrtIpcMemGetExportKey(p, 4096, key, 65, 1), *made, acl.aclrtFree(p), acl.aclrtSetDevice(0), flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()"
    )
    assert done.stdout.split() == ["107002"] * 6, done.stderr
