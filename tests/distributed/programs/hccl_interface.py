"""libhccl.so as a C program calls it: the ranks are the devices of this one process, each driven by a thread."""

import ctypes
import sys
import threading
from collections.abc import Iterator
from ctypes import byref, c_float, c_int32, c_uint64, c_void_p
from pathlib import Path

import torch  # noqa: F401, loads the engine
from torch_aclnn.loading.paths import libdir

sys.path.append(str(Path(__file__).parents[2]))
from support.library import Library

RANKS = 3
FP32, INT8, SUM = 4, 0, 0
ANY_DIRECTION = 4  # ACL_MEMCPY_DEFAULT
acl, hccl = (Library(str(libdir() / f"lib{name}.so")) for name in ("ascendcl", "hccl"))


def ok(code: int) -> None:
    assert code == 0, (code, acl.aclGetRecentErrMsg())


def refusal(code: int) -> list[object]:
    return [code, acl.aclGetRecentErrMsg().decode()]


class Floats:
    """An array in memory of the current device."""

    def __init__(self, *values: float) -> None:
        self._array_type, address = c_float * len(values), c_void_p()
        ok(acl.aclrtMalloc(byref(address), self._size(), 0))
        assert address.value is not None
        self._address = address.value
        self._copy(self.at(0), self._array_type(*values))

    def at(self, offset: int) -> c_void_p:
        return c_void_p(self._address + 4 * offset)

    @property
    def _as_parameter_(self) -> c_void_p:
        return self.at(0)

    def __iter__(self) -> Iterator[float]:
        values = self._array_type()
        self._copy(values, self.at(0))
        return iter(values)

    def _size(self) -> int:
        return ctypes.sizeof(self._array_type)

    def _copy(self, target: object, source: object) -> None:
        ok(acl.aclrtMemcpy(target, self._size(), source, self._size(), ANY_DIRECTION))


def counts(*values: int) -> ctypes.Array:
    return (c_uint64 * len(values))(*values)


def on_each_device(body: object) -> list[object]:
    """Call body(rank) on a thread for each device, and return what the calls return."""
    results: list[object] = [None] * RANKS

    def run(rank: int) -> None:
        ok(acl.aclrtSetDevice(rank))
        results[rank] = body(rank)  # type: ignore[operator]

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def communicators() -> ctypes.Array:
    """Make a communicator of all devices, and return each rank's end of it."""
    ok(acl.aclrtSetDevice(0))
    comms = (c_void_p * RANKS)()
    ok(hccl.HcclCommInitAll(RANKS, (c_int32 * RANKS)(*range(RANKS)), comms))
    return comms
