"""TORCH_ACLNN_HOST_MODE=isolate: device memory that the program touches, and what it is told then. Each case is a process of its own."""

import re
import signal
from textwrap import dedent

import pytest

from support.marks import needs_stack_of_python

ISOLATED = {"TORCH_ACLNN_HOST_MODE": "isolate"}
START = """
import os
acl.ok("aclInit", None); acl.ok("aclrtSetDevice", 0)
memory = acl.create("aclrtMalloc", 100, 0)
"""
PROGRAM = {
    "read": "ctypes.string_at(memory + 16, 4)",
    "write": "ctypes.memset(memory + 16, 0, 4)",
    "read behind the end": "ctypes.string_at(memory + 4096, 1)",
    "read freed memory": "acl.aclrtFree(memory); ctypes.string_at(memory + 16, 4)",
}
PLACES = {
    "read": "is at offset 16 of an allocation of 100 bytes on device 0, ",
    "write": "is at offset 16 of an allocation of 100 bytes on device 0, ",
    "read behind the end": "is 3996 bytes behind the end of an allocation of 100 bytes on device 0, ",
    "read freed memory": "is at offset 16 of memory that was freed, 100 bytes on device 0, ",
}


@pytest.fixture
def run(run_engine):
    """Return a function that runs code on an isolated engine with 100 bytes of device memory."""
    return lambda code, **settings: run_engine(START + dedent(code), **(ISOLATED | settings))


@pytest.mark.parametrize("name", PROGRAM)
def test_touching_device_memory_ends_the_process_with_a_report(run, name):
    ended = run(PROGRAM[name])
    assert ended.returncode == -signal.SIGSEGV
    report = ended.stderr
    access = {"x86_64": "wrote to" if name == "write" else "read"}.get(__import__("platform").machine(), "touched")
    assert re.search(rf"torch_aclnn: host code {access} device memory at 0x[0-9a-f]+\n", report), report
    assert "TORCH_ACLNN_HOST_MODE=isolate" in report
    assert PLACES[name] in report
    assert "allocated by aclrtMalloc, called from\n" in report and "libascendcl.so" not in report
    assert ("torch_aclnn: freed by" in report) == (name == "read freed memory")


@needs_stack_of_python
def test_report_has_the_lines_of_python_that_allocated_freed_and_touched(run):
    report = run("""
        def make(): return acl.create("aclrtMalloc", 4096, 0)
        def free(): acl.ok("aclrtFree", made)
        def touch(): ctypes.string_at(made, 1)
        made = make()
        free()
        touch()
    """).stderr
    allocated, freed, touched = re.split("torch_aclnn: freed by|torch_aclnn: the access came from", report)
    assert re.search(r'File "<string>", line \d+ in make\n', allocated)
    assert re.search(r'File "<string>", line \d+ in free\n', freed)
    assert re.search(r'File "<string>", line \d+ in touch\n', touched)


def test_previous_handler_runs_after_the_report(run):
    ended = run("ctypes.string_at(memory, 4)", PYTHONFAULTHANDLER="1")
    assert ended.returncode == -signal.SIGSEGV
    assert ended.stderr.index("host code") < ended.stderr.index("Fatal Python error: Segmentation fault")


def test_handler_of_the_program_itself_runs_after_the_report(run_engine):
    code = """
        handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: os._exit(number + 1))
        libc = ctypes.CDLL(None)
        libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
        libc.signal(11, ctypes.cast(handler, ctypes.c_void_p))
    """
    ended = run_engine("import os\n" + dedent(code) + START + "ctypes.string_at(memory, 4)", **ISOLATED)
    assert ended.returncode == 12
    assert "host code" in ended.stderr


@pytest.mark.parametrize("fault", ["ctypes.memset(16, 0, 1)", "os.kill(os.getpid(), 11)", "ctypes.CDLL(None).raise_(11)"])
def test_other_faults_are_not_ours(run, fault):
    ended = run(fault.replace("CDLL(None).raise_", "CDLL(None)['raise']"))
    assert ended.returncode == -signal.SIGSEGV
    assert "host code" not in ended.stderr


def test_without_isolation_there_is_no_handler(run_engine):
    ended = run_engine(START + "import faulthandler; ctypes.memset(16, 0, 1)", PYTHONFAULTHANDLER="1")
    assert ended.stderr.rstrip().splitlines()[1].startswith("Fatal Python error")


def test_the_engine_reaches_what_the_program_cannot(run):
    ended = run("""
        host, other, page_locked = (ctypes.create_string_buffer(100) for _ in range(3))
        other_memory, locked = acl.create("aclrtMalloc", 100, 0), acl.create("aclrtMallocHost", 100)
        ctypes.memset(locked, 3, 100)
        acl.ok("aclrtMemset", memory, 100, 7, 100)
        acl.ok("aclrtMemcpy", memory, 50, locked, 50, 1)
        acl.ok("aclrtMemcpy", other_memory, 100, memory, 100, 3)
        acl.ok("aclrtMemcpy", host, 100, other_memory, 100, 2)
        assert host.raw == bytes([3]) * 50 + bytes([7]) * 50
        print("done")
    """)
    assert ended.stdout == "done\n", ended.stderr


def test_mapped_memory_is_isolated_too(run):
    ended = run("""
        from support.runtime import PhysicalProperties
        size, target = 2 << 20, ctypes.create_string_buffer(4)
        address = acl.create("aclrtReserveMemAddress", 2 * size, 0, None, 1)
        acl.ok("aclrtMapMem", address, size, 0, acl.create("aclrtMallocPhysical", size, ctypes.byref(PhysicalProperties()), 0), 0)
        acl.ok("aclrtMemset", address, size, 65, size)
        acl.ok("aclrtMemcpy", target, 4, address + size - 4, 4, 2)
        print(target.raw, flush=True)
        ctypes.string_at(address + 5, 1)
    """)
    assert ended.stdout == "b'AAAA'\n"
    assert ended.returncode == -signal.SIGSEGV
    assert "is at offset 5 of an allocation of 2097152 bytes on device 0" in ended.stderr
    assert "allocated by aclrtMapMem" in ended.stderr


def test_freed_addresses_are_not_used_again_at_once(run):
    ended = run("""
        seen = set()
        for _ in range(3000):
            address = acl.create("aclrtMalloc", 1 << 20, 0)
            assert address not in seen
            seen.add(address)
            acl.ok("aclrtFree", address)
        print("done")
    """, TORCH_ACLNN_HOST_MEMORY="4M")  # fmt: skip
    assert ended.stdout == "done\n", ended.stderr
