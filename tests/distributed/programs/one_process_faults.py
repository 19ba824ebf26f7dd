"""What libhccl.so answers to a C program that goes wrong. Prints a JSON object; HCCL_EXEC_TIMEOUT is 2 seconds."""

import json
import os
import threading
import time
from ctypes import byref, c_float, c_int, c_void_p

import torch_aclnn  # noqa: F401
from hccl_interface import FP32, RANKS, SUM, Floats, acl, communicators, counts, hccl, ok, on_each_device, refusal


def refused_buffers() -> dict[str, list[object]]:
    comm, own, host, large = comms[0], Floats(1, 2, 3), (c_float * 3)(), 1 << 62
    one_each, far = counts(1, 1, 1), counts(0, 1, (1 << 64) - 1)
    return {
        "host memory": refusal(hccl.HcclAllReduce(host, own, 3, FP32, SUM, comm, None)),
        "received into host memory": refusal(hccl.HcclRecv(host, 3, FP32, 1, comm, None)),
        "beyond the allocation": refusal(hccl.HcclAllReduce(own, own, 4, FP32, SUM, comm, None)),
        "for one rank only": refusal(hccl.HcclAllGather(own, own, 3, FP32, comm, None)),
        "too many bytes": refusal(hccl.HcclBroadcast(own, large, FP32, 0, comm, None)),
        "too far": refusal(hccl.HcclAlltoAllV(own, one_each, far, FP32, own, one_each, counts(0, 1, 2), FP32, comm, None)),
        "own count": refusal(hccl.HcclAllGatherV(own, 2, own, one_each, counts(0, 1, 2), FP32, comm, None)),
    }


def after_fork() -> str:
    """Return the outcome of a collective in a fork of the process that made the communicator."""
    reader, writer = os.pipe()
    own = Floats(1)
    child = os.fork()
    if child == 0:
        os.write(writer, refusal(hccl.HcclAllReduce(own, own, 1, FP32, SUM, comms[0], None))[1].encode())  # type: ignore[attr-defined]
        hccl.HcclCommDestroy(comms[0])
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(reader, 4096).decode()


def overlapping(rank: int) -> dict[str, list[float]]:
    """Input and output share memory: the result is that of an input that was copied before."""
    both = Floats(rank, rank + 10, -1, -1, -1, -1, -1)
    ok(hccl.HcclAllGather(both.at(0), both.at(1), 2, FP32, comms[rank], None))
    summands = Floats(*range(6))
    ok(hccl.HcclReduceScatter(summands.at(0), summands.at(1), 2, FP32, SUM, comms[rank], None))
    shifted = Floats(1, 2, 3, 4)
    ok(hccl.HcclAllReduce(shifted.at(0), shifted.at(1), 3, FP32, SUM, comms[rank], None))
    ok(acl.aclrtSynchronizeStream(None))
    return {"gathered": list(both)[1:], "part": list(summands)[1:3], "summed": list(shifted)[1:]}


def freed_meanwhile(rank: int) -> list[object]:
    """Freeing the memory of a collective that runs waits for it."""
    own = Floats(rank)
    if rank > 0:
        free_called.wait()
        time.sleep(0.2)
    ok(hccl.HcclAllReduce(own, own, 1, FP32, SUM, comms[rank], None))
    if rank > 0:
        ok(acl.aclrtSynchronizeStream(None))
        return list(own)
    time.sleep(0.2)
    begin = time.monotonic()
    free_called.set()
    freed = acl.aclrtFree(own.at(0))
    return [freed, time.monotonic() - begin > 0.1, acl.aclrtSynchronizeStream(None)]


def freed_before(rank: int) -> list[object]:
    """Memory that is freed while its collective waits for an earlier one is found, on all ranks."""
    one, other = Floats(1), Floats(1)
    if rank > 0:
        free_returned.wait()
    ok(hccl.HcclAllReduce(one, one, 1, FP32, SUM, comms[rank], None))
    ok(hccl.HcclAllReduce(other, other, 1, FP32, SUM, comms[rank], None))
    if rank == 0:
        ok(acl.aclrtFree(other.at(0)))
        free_returned.set()
    return refusal(acl.aclrtSynchronizeStream(None))


def in_another_order(rank: int) -> list[object]:
    """Two communicators on one stream, whose operations wait for each other."""
    own = Floats(1)
    for comm in (first, second) if rank == 0 else (second, first):
        ok(hccl.HcclAllReduce(own, own, 1, FP32, SUM, comm[rank], None))
    begin = time.monotonic()
    return [*refusal(acl.aclrtSynchronizeStream(None)), time.monotonic() - begin]


def told_to_the_watchdog() -> list[int]:
    """What a program learns of a failure without synchronising: at once, later, and after a synchronisation."""
    alone, own, found = communicators(), Floats(1), []

    def ask() -> None:
        error = c_int(-1)
        ok(hccl.HcclGetCommAsyncError(alone[0], byref(error)))
        found.append(error.value)

    ok(hccl.HcclRecv(own, 1, FP32, 0, alone[0], None))  # a rank receives from itself what it has not sent: it fails at once
    time.sleep(0.5)
    ask()
    time.sleep(2)
    ask()
    refusal(acl.aclrtSynchronizeStream(None))
    ask()
    for comm in alone:
        ok(hccl.HcclCommDestroy(comm))
    return found


def destroyed_in_use() -> list[object]:
    """Destroying a communicator whose collective waits for the others takes until that gives up."""
    alone, own = communicators(), Floats(1)
    stream, error = c_void_p(), c_int(-1)
    ok(acl.aclrtCreateStream(byref(stream)))
    ok(hccl.HcclAllReduce(own, own, 1, FP32, SUM, alone[0], stream))
    begin = time.monotonic()
    ok(hccl.HcclCommDestroy(alone[0]))
    seconds = time.monotonic() - begin
    ok(hccl.HcclGetCommAsyncError(alone[1], byref(error)))
    for comm in alone[1:]:
        ok(hccl.HcclCommDestroy(comm))
    return [*refusal(acl.aclrtSynchronizeStream(stream)), seconds]


def destroyed_by_a_peer() -> list[object]:
    """The rank where all met, and whose store they ask for the others' failures, destroys its end while the others wait for it."""
    of_all = communicators()

    def body(rank: int) -> list[object]:
        if rank == 0:
            time.sleep(0.2)
            return [hccl.HcclCommDestroy(of_all[rank])]
        own = Floats(1)
        ok(hccl.HcclAllReduce(own, own, 1, FP32, SUM, of_all[rank], None))
        failure = refusal(acl.aclrtSynchronizeStream(None))
        ok(hccl.HcclCommDestroy(of_all[rank]))
        return failure

    return on_each_device(body)


ok(acl.aclInit(None))
free_called, free_returned = threading.Event(), threading.Event()
comms = communicators()
results: dict[str, object] = {
    "refused": refused_buffers(),
    "after fork": after_fork(),
    "overlapping": on_each_device(overlapping),
    "freed meanwhile": on_each_device(freed_meanwhile),
    "freed before": on_each_device(freed_before),
}
first, second = communicators(), communicators()
results["in another order"] = on_each_device(in_another_order)
results["told to the watchdog"] = told_to_the_watchdog()
results["destroyed in use"] = destroyed_in_use()
results["destroyed by a peer"] = destroyed_by_a_peer()
for rank in range(RANKS):
    for of_all in (first, second, comms) if rank > 0 else (first, second):
        ok(hccl.HcclCommDestroy(of_all[rank]))
print(json.dumps(results), flush=True)
ok(acl.aclFinalize())  # comms[0] is left
os._exit(0)
