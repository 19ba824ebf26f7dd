"""The engine's runtime, called as a C program would call it."""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

import pytest
from torch_aclnn.host import libdir

ROOT = Path(__file__).parents[2]

HOST_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)
TENSORS = [c_int, c_void_p, c_void_p]
COMPILE_AND_EXECUTE = [c_char_p, *TENSORS, *TENSORS, c_void_p, c_int, c_int, c_char_p, c_void_p]

# What ctypes would otherwise pass as a C int. Functions that are not listed are only ever called to be refused.
PROTOTYPES: dict[str, list] = {
    "aclGetCompileopt": [c_int, c_char_p, c_size_t],
    "aclGetCompileoptSize": [c_int],
    "aclGetDeviceCapability": [c_uint32, c_int, POINTER(c_int64)],
    "aclSetCompileopt": [c_int, c_char_p],
    "aclInit": [c_char_p],
    "aclopCreateAttr": [],
    "aclopSetAttrInt": [c_void_p, c_char_p, c_int64],
    "aclopDestroyAttr": [c_void_p],
    "aclopCompileAndExecute": COMPILE_AND_EXECUTE,
    "aclopCompileAndExecuteV2": COMPILE_AND_EXECUTE,
    "aclrtCreateContext": [POINTER(c_void_p), c_int32],
    "aclrtCreateEvent": [POINTER(c_void_p)],
    "aclrtCreateEventExWithFlag": [POINTER(c_void_p), c_uint32],
    "aclrtCreateEventWithFlag": [POINTER(c_void_p), c_uint32],
    "aclrtCreateStream": [POINTER(c_void_p)],
    "aclrtCreateStreamWithConfig": [POINTER(c_void_p), c_uint32, c_uint32],
    "aclrtCtxGetSysParamOpt": [c_int, POINTER(c_int64)],
    "aclrtCtxSetSysParamOpt": [c_int, c_int64],
    "aclrtDestroyContext": [c_void_p],
    "aclrtDestroyEvent": [c_void_p],
    "aclrtDestroyStream": [c_void_p],
    "aclrtDestroyStreamForce": [c_void_p],
    "aclrtDeviceCanAccessPeer": [POINTER(c_int32), c_int32, c_int32],
    "aclrtEventElapsedTime": [POINTER(c_float), c_void_p, c_void_p],
    "aclrtEventGetTimestamp": [c_void_p, POINTER(c_uint64)],
    "aclrtFree": [c_void_p],
    "aclrtFreeHost": [c_void_p],
    "aclrtFreePhysical": [c_void_p],
    "aclrtGetCurrentContext": [POINTER(c_void_p)],
    "aclrtGetDevice": [POINTER(c_int32)],
    "aclrtGetDeviceCount": [POINTER(c_uint32)],
    "aclrtGetMemInfo": [c_int, POINTER(c_size_t), POINTER(c_size_t)],
    "aclrtGetStreamOverflowSwitch": [c_void_p, POINTER(c_uint32)],
    "aclrtGetSysParamOpt": [c_int, POINTER(c_int64)],
    "aclrtHostRegister": [c_void_p, c_uint64, c_int, POINTER(c_void_p)],
    "aclrtHostUnregister": [c_void_p],
    "aclrtLaunchHostFunc": [c_void_p, HOST_FUNCTION, c_void_p],
    "aclrtMalloc": [POINTER(c_void_p), c_size_t, c_int],
    "aclrtMallocHost": [POINTER(c_void_p), c_size_t],
    "aclrtMallocPhysical": [POINTER(c_void_p), c_size_t, c_void_p, c_uint64],
    "aclrtMapMem": [c_void_p, c_size_t, c_size_t, c_void_p, c_uint64],
    "aclrtMemcpy": [c_void_p, c_size_t, c_void_p, c_size_t, c_int],
    "aclrtMemcpyAsync": [c_void_p, c_size_t, c_void_p, c_size_t, c_int, c_void_p],
    "aclrtMemset": [c_void_p, c_size_t, c_int32, c_size_t],
    "aclrtMemsetAsync": [c_void_p, c_size_t, c_int32, c_size_t, c_void_p],
    "aclrtQueryEvent": [c_void_p, POINTER(c_int)],
    "aclrtQueryEventStatus": [c_void_p, POINTER(c_int)],
    "aclrtQueryEventWaitStatus": [c_void_p, POINTER(c_int)],
    "aclrtRecordEvent": [c_void_p, c_void_p],
    "aclrtReleaseMemAddress": [c_void_p],
    "aclrtReserveMemAddress": [POINTER(c_void_p), c_size_t, c_size_t, c_void_p, c_uint64],
    "aclrtResetDevice": [c_int32],
    "aclrtResetEvent": [c_void_p, c_void_p],
    "aclrtSetCurrentContext": [c_void_p],
    "aclrtSetDevice": [c_int32],
    "aclrtSetStreamFailureMode": [c_void_p, c_uint64],
    "aclrtSetStreamOverflowSwitch": [c_void_p, c_uint32],
    "aclrtSetSysParamOpt": [c_int, c_int64],
    "aclrtStreamGetId": [c_void_p, POINTER(c_int32)],
    "aclrtStreamQuery": [c_void_p, POINTER(c_int)],
    "aclrtStreamWaitEvent": [c_void_p, c_void_p],
    "aclrtSynchronizeEvent": [c_void_p],
    "aclrtSynchronizeStream": [c_void_p],
    "aclrtSynchronizeStreamWithTimeout": [c_void_p, c_int32],
    "aclrtUnmapMem": [c_void_p],
    "torchAclnnHostCalls": [POINTER(c_char_p), POINTER(c_uint64), c_size_t],
}
RESULTS = {
    "aclGetCompileoptSize": c_size_t,
    "aclGetRecentErrMsg": c_char_p,
    "aclopCreateAttr": c_void_p,
    "aclprofCreateConfig": c_void_p,
    "aclrtGetSocName": c_char_p,
    "torchAclnnHostCalls": c_size_t,
}


class Ascendcl(ctypes.CDLL):
    """libascendcl.so with the types of its functions, and shorthands for what every test does."""

    def __getattr__(self, name: str):
        function = super().__getattr__(name)
        if name in PROTOTYPES:
            function.argtypes = PROTOTYPES[name]
        function.restype = RESULTS.get(name, c_int)
        return function

    def sentence(self) -> str:
        """Take the sentence of this thread's last refusal."""
        return self.aclGetRecentErrMsg().decode()

    def ok(self, name: str, *arguments) -> None:
        """Call what must succeed."""
        code = getattr(self, name)(*arguments)
        assert code == 0, f"{name}: {code}, {self.sentence()}"

    def refuses(self, code: int, words: str, name: str, *arguments) -> None:
        """Call what must be refused: with the code, and with one sentence that has the name and the words."""
        assert getattr(self, name)(*arguments) == code
        sentence = self.sentence()
        assert sentence.startswith(f"{name}: "), sentence
        assert words in sentence, sentence

    def create(self, name: str, *arguments) -> int:
        """Call what makes a handle or an address, and return it."""
        made = c_void_p()
        self.ok(name, ctypes.byref(made), *arguments)
        assert made.value is not None
        return made.value


@pytest.fixture(scope="session")
def library() -> Ascendcl:
    return Ascendcl(str(libdir() / "libascendcl.so"), mode=ctypes.RTLD_GLOBAL)


@pytest.fixture
def ascendcl(library: Ascendcl) -> Ascendcl:
    """Return the runtime with device 0 chosen on this thread and no error left over."""
    library.ok("aclrtSetDevice", 0)
    library.aclGetRecentErrMsg()
    library.aclrtGetLastError(0)
    return library


@pytest.fixture
def stream(ascendcl: Ascendcl) -> Iterator[int]:
    handle = ascendcl.create("aclrtCreateStream")
    yield handle
    ascendcl.aclrtSynchronizeStream(handle)
    ascendcl.ok("aclrtDestroyStream", handle)


@pytest.fixture
def device_memory(ascendcl: Ascendcl) -> Iterator[int]:
    """Allocate 4096 bytes of device memory."""
    address = ascendcl.create("aclrtMalloc", 4096, 0)
    yield address
    ascendcl.ok("aclrtFree", address)


@pytest.fixture(scope="session")
def tasks(library: Ascendcl, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Compile the tasks that fail on purpose as a library of its own: what it throws must be caught in another."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    target = tmp_path_factory.mktemp("tasks") / "libtasks.so"
    flags = ["-std=c++17", "-O0", "-fPIC", "-shared", "-fvisibility=hidden"]
    include = [f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'csrc' / 'include'}"]
    source = Path(__file__).with_name("tasks.cpp")
    link = [f"-L{libdir()}", "-lascendcl"]
    subprocess.run([compiler, *flags, *include, str(source), "-o", str(target), *link], check=True)
    compiled = ctypes.CDLL(str(target))
    for name in ("enqueue_failing_task", "enqueue_throwing_task", "enqueue_refusing_task", "enqueue_counting_task"):
        getattr(compiled, name).argtypes = [c_void_p]
    return compiled


@pytest.fixture(scope="session")
def run_engine() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python code in a process of its own, with `acl` as the runtime."""

    def run(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
        start = (
            "import ctypes\n"
            f"acl = ctypes.CDLL({str(libdir() / 'libascendcl.so')!r})\n"
            "acl.aclGetRecentErrMsg.restype = acl.aclrtGetSocName.restype = ctypes.c_char_p\n"
            "acl.aclrtMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_int]\n"
            "sentence = lambda: acl.aclGetRecentErrMsg().decode()\n"
        )
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_ACLNN_HOST_")}
        return subprocess.run([sys.executable, "-S", "-c", start + code], env=kept | settings, capture_output=True, text=True, timeout=60)

    return run
