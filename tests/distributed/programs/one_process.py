"""What libhccl.so answers to a C program: its ranks are devices of this process. Prints a JSON object."""

import json
import threading
from ctypes import byref, c_char, c_int, c_int32, c_uint32, c_void_p, create_string_buffer

import torch_aclnn  # noqa: F401
from hccl_interface import FP32, SUM, Floats, acl, communicators, counts, hccl, ok, on_each_device, refusal

comms = communicators()


def identity(rank: int) -> list[object]:
    name, own, size = create_string_buffer(128), c_uint32(), c_uint32()
    ok(hccl.HcclGetCommName(comms[rank], name))
    ok(hccl.HcclGetRankId(comms[rank], byref(own)))
    ok(hccl.HcclGetRankSize(comms[rank], byref(size)))
    return [name.value.decode(), own.value, size.value]


def collectives(rank: int) -> dict[str, list[float]]:
    stream = c_void_p()
    ok(acl.aclrtCreateStream(byref(stream)))
    comm, own = comms[rank], Floats(rank, 1)
    summed, gathered, part, exchanged = Floats(0, 0), Floats(*[-1] * 8), Floats(*[0] * (rank + 1)), Floats(*[-1] * 6)
    ok(hccl.HcclAllReduce(own, summed, 2, FP32, SUM, comm, stream))
    # Rank r gives r + 1 elements; one element is left free between the parts.
    mine, summands = Floats(*[rank] * (rank + 1)), Floats(*range(6))
    ok(hccl.HcclAllGatherV(mine, rank + 1, gathered, counts(1, 2, 3), counts(0, 2, 5), FP32, comm, stream))
    ok(hccl.HcclReduceScatterV(summands, counts(1, 2, 3), counts(0, 1, 3), part, rank + 1, FP32, SUM, comm, stream))
    # Each gives one element to each other, backwards in its buffer; what is taken has a gap after it.
    given = Floats(10 * rank + 2, 10 * rank + 1, 10 * rank)
    ok(hccl.HcclAlltoAllV(given, counts(1, 1, 1), counts(2, 1, 0), FP32, exchanged, counts(1, 1, 1), counts(0, 2, 4), FP32, comm, stream))
    ok(hccl.HcclBarrier(comm, stream))
    ok(acl.aclrtSynchronizeStream(stream))
    return {"summed": list(summed), "gathered": list(gathered), "part": list(part), "exchanged": list(exchanged)}


def of_some(rank: int) -> list[float]:
    """Ranks 2 and 0 make a communicator, in which they are 0 and 1."""
    if rank == 1:
        return []
    comm, part, value = c_void_p(comms[rank]), c_void_p(), Floats(rank + 1)
    ok(hccl.HcclCreateSubCommConfig(byref(comm), 2, (c_uint32 * 2)(2, 0), 7, 0 if rank == 2 else 1, None, byref(part)))
    ok(hccl.HcclBroadcast(value, 1, FP32, 0, part, None))
    ok(acl.aclrtSynchronizeStream(None))
    ok(hccl.HcclCommDestroy(part))
    return list(value)


def queued(rank: int) -> list[object]:
    """A stream with a collective that not all ranks have reached is not complete, nor is an event after it; other streams go on."""
    if rank == 2:
        return []
    stream, event, status, state = c_void_p(), c_void_p(), c_int(-1), c_int(-1)
    ok(acl.aclrtCreateStream(byref(stream)))
    ok(acl.aclrtCreateEvent(byref(event)))
    value = Floats(1)
    if rank == 1:
        received_by_0.wait()
        ok(hccl.HcclSend(value, 1, FP32, 0, comms[1], stream))
        ok(acl.aclrtSynchronizeStream(stream))
        return []
    ok(hccl.HcclRecv(value, 1, FP32, 1, comms[0], stream))
    ok(acl.aclrtRecordEvent(event, stream))
    ok(acl.aclrtStreamQuery(stream, byref(status)))
    ok(acl.aclrtQueryEventStatus(event, byref(state)))
    timed_out = acl.aclrtSynchronizeStreamWithTimeout(stream, 50)
    ok(acl.aclrtSynchronizeStream(None))
    received_by_0.set()
    ok(acl.aclrtSynchronizeEvent(event))
    after = c_int(-1)
    ok(acl.aclrtQueryEventStatus(event, byref(after)))
    return [status.value, state.value, timed_out, after.value]


received_by_0 = threading.Event()
results = {
    "identity": on_each_device(identity),
    "collectives": on_each_device(collectives),
    "of_some": on_each_device(of_some),
    "queued": on_each_device(queued),
}
value, error = Floats(1, 1), c_int(-1)
info = (c_char * 4108)()
results["refused"] = {
    "null comm": refusal(hccl.HcclBarrier(None, None)),
    "dead comm": refusal(hccl.HcclBarrier(0x1234, None)),
    "stream": refusal(hccl.HcclBarrier(comms[0], 0x1234)),
    "null buffer": refusal(hccl.HcclAllReduce(None, value, 1, FP32, SUM, comms[0], None)),
    "type": refusal(hccl.HcclAllReduce(value, value, 1, 99, SUM, comms[0], None)),
    "op": refusal(hccl.HcclAllReduce(value, value, 1, FP32, 9, comms[0], None)),
    "float8": refusal(hccl.HcclAllReduce(value, value, 1, 15, SUM, comms[0], None)),
    "root": refusal(hccl.HcclBroadcast(value, 1, FP32, 3, comms[0], None)),
    "peer": refusal(hccl.HcclSend(value, 1, FP32, 3, comms[0], None)),
    "unaligned": refusal(hccl.HcclAllReduce(c_void_p(value.at(0).value + 2), value, 1, FP32, SUM, comms[0], None)),
    "null counts": refusal(hccl.HcclAllGatherV(value, 1, value, None, counts(0, 0, 0), FP32, comms[0], None)),
    "root info": refusal(hccl.HcclCommInitRootInfo(2, info, 0, byref(c_void_p()))),
    "null root info": refusal(hccl.HcclGetRootInfo(None)),
}
ok(hccl.HcclGetRootInfo(info))
results["address"] = info.value.decode().split()[0]
for name, devices in {"device": (0, 99), "device twice": (1, 1)}.items():
    results["refused"][name] = refusal(hccl.HcclCommInitAll(2, (c_int32 * 2)(*devices), (c_void_p * 2)()))
results["refused"]["rank"] = refusal(hccl.HcclCommInitRootInfo(2, info, 2, byref(c_void_p())))
ok(hccl.HcclGetCommAsyncError(comms[0], byref(error)))
results["healthy"] = error.value
for comm in comms:
    ok(hccl.HcclCommDestroy(comm))
results["refused"]["destroyed"] = refusal(hccl.HcclCommDestroy(comms[0]))
print(json.dumps(results))
