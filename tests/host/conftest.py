"""The engine's runtime, called as a C program would call it."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from ctypes import c_void_p
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import libdir

from support.compiler import shared_library
from support.runtime import Runtime

ROOT = Path(__file__).parents[2]


@pytest.fixture
def stream(acl: Runtime) -> Iterator[int]:
    handle = acl.create("aclrtCreateStream")
    yield handle
    acl.aclrtSynchronizeStream(handle)
    acl.ok("aclrtDestroyStream", handle)


@pytest.fixture
def other_stream(acl):
    handle = acl.create("aclrtCreateStreamWithConfig", 0, 3)
    yield handle
    acl.aclrtSynchronizeStream(handle)
    acl.ok("aclrtDestroyStreamForce", handle)


@pytest.fixture
def device_memory(acl: Runtime) -> Iterator[int]:
    """Allocate 4096 bytes of device memory."""
    address = acl.create("aclrtMalloc", 4096, 0)
    yield address
    acl.ok("aclrtFree", address)


@pytest.fixture
def host_memory(acl: Runtime) -> Iterator[int]:
    """Allocate 4096 bytes of page-locked host memory."""
    address = acl.create("aclrtMallocHost", 4096)
    yield address
    acl.ok("aclrtFreeHost", address)


@pytest.fixture(scope="session")
def tasks(library: Runtime, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Compile the tasks that fail on purpose as a library of its own: what it throws must be caught in another."""
    target = tmp_path_factory.mktemp("tasks") / "libtasks.so"
    flags = ["-std=c++20", "-O0", "-fvisibility=hidden"]
    include = [f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'csrc' / 'include'}"]
    source = Path(__file__).with_name("tasks.cpp")
    compiled = ctypes.CDLL(str(shared_library(source, target, [*flags, *include], [f"-L{libdir()}", "-lascendcl"])))
    for name in ("enqueue_failing_task", "enqueue_throwing_task", "enqueue_refusing_task", "enqueue_counting_task"):
        getattr(compiled, name).argtypes = [c_void_p]
    return compiled


START = f"""
import ctypes
from support.runtime import Runtime
acl = Runtime({str(libdir() / "libascendcl.so")!r})
message = acl.message
"""


@pytest.fixture(scope="session")
def run_engine() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python code in a process of its own, with `acl` as the runtime, or another start."""

    def run(code: str, start: str = START, **settings: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_ACLNN_HOST_")}
        command = [sys.executable, "-S", "-c", start + code]
        return subprocess.run(command, cwd=ROOT / "tests", env=kept | settings, capture_output=True, text=True, timeout=60)

    return run
