"""libhccl.so as a C program calls it: the ranks are the devices of this one process, each driven by a thread."""

import ctypes
import threading
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int32, c_uint32, c_uint64, c_void_p

import torch  # noqa: F401, loads the engine
from torch_aclnn.host import libdir

RANKS = 3
FP32, INT8, SUM = 4, 0, 0
acl = ctypes.CDLL(str(libdir() / "libascendcl.so"))
hccl = ctypes.CDLL(str(libdir() / "libhccl.so"))
acl.aclGetRecentErrMsg.restype = c_char_p
for name, types in {
    "HcclAllReduce": [c_void_p, c_void_p, c_uint64, c_int, c_int, c_void_p, c_void_p],
    "HcclAllGatherV": [c_void_p, c_uint64, c_void_p, c_void_p, c_void_p, c_int, c_void_p, c_void_p],
    "HcclReduceScatterV": [c_void_p, c_void_p, c_void_p, c_void_p, c_uint64, c_int, c_int, c_void_p, c_void_p],
    "HcclAlltoAllV": [c_void_p, c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p, c_void_p],
    "HcclBroadcast": [c_void_p, c_uint64, c_int, c_uint32, c_void_p, c_void_p],
    "HcclSend": [c_void_p, c_uint64, c_int, c_uint32, c_void_p, c_void_p],
    "HcclRecv": [c_void_p, c_uint64, c_int, c_uint32, c_void_p, c_void_p],
    "HcclAllGather": [c_void_p, c_void_p, c_uint64, c_int, c_void_p, c_void_p],
    "HcclReduceScatter": [c_void_p, c_void_p, c_uint64, c_int, c_int, c_void_p, c_void_p],
    "HcclBarrier": [c_void_p, c_void_p],
    "HcclCommInitAll": [c_uint32, POINTER(c_int32), POINTER(c_void_p)],
    "HcclCommInitRootInfo": [c_uint32, c_void_p, c_uint32, POINTER(c_void_p)],
    "HcclCreateSubCommConfig": [POINTER(c_void_p), c_uint32, POINTER(c_uint32), c_uint64, c_uint32, c_void_p, POINTER(c_void_p)],
    "HcclCommDestroy": [c_void_p],
    "HcclGetCommName": [c_void_p, c_char_p],
    "HcclGetRankId": [c_void_p, POINTER(c_uint32)],
    "HcclGetRankSize": [c_void_p, POINTER(c_uint32)],
    "HcclGetCommAsyncError": [c_void_p, POINTER(c_int)],
}.items():  # fmt: skip
    getattr(hccl, name).argtypes = types


def ok(code: int) -> None:
    assert code == 0, (code, acl.aclGetRecentErrMsg())


def refusal(code: int) -> list[object]:
    return [code, acl.aclGetRecentErrMsg().decode()]


def floats(*values: float) -> ctypes.Array:
    """Return an array in memory of the current device, which the engine's host sees at the same address."""
    address = c_void_p()
    ok(acl.aclrtMalloc(byref(address), c_uint64(4 * len(values)), 0))
    array = (c_float * len(values)).from_address(address.value)  # type: ignore[arg-type]
    array[:] = values
    return array


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
