"""Each code of libhccl.so, provoked. Prints a JSON object of code by name; HCCL_EXEC_TIMEOUT is 1 second."""

import ctypes
import json
import os
import socket
import threading
import time
from ctypes import byref, c_int, c_void_p
from typing import Any

import torch_aclnn  # noqa: F401
from hccl_interface import FP32, SUM, Floats, acl, communicators, hccl, ok, on_each_device

NO_STREAM = c_void_p(0x1234)
UNTIL_TOLD = 20  # seconds; a failure is reported two seconds after it occurred if nobody asks for it


def asynchronous_error(comm: Any) -> int:
    error, end = c_int(0), time.monotonic() + UNTIL_TOLD
    while error.value == 0 and time.monotonic() < end:
        time.sleep(0.05)
        ok(hccl.HcclGetCommAsyncError(comm, byref(error)))
    acl.aclrtSynchronizeStream(None)  # until then, operations after the failure are skipped
    return error.value


def freed_before_it_ran() -> int:
    comms, freed = communicators(), threading.Event()

    def reduce_twice(rank: int) -> None:
        one, other = Floats(1), Floats(1)
        if rank > 0:
            freed.wait()
        for array in (one, other):
            ok(hccl.HcclAllReduce(array, array, 1, FP32, SUM, comms[rank], None))
        if rank == 0:
            ok(acl.aclrtFree(other))
            freed.set()

    on_each_device(reduce_twice)
    return asynchronous_error(comms[0])


def alone(destroy_others: bool) -> int:
    """Return the code of a rank whose others do not come, or have gone."""
    comms = communicators()
    if destroy_others:
        for comm in comms[1:]:
            ok(hccl.HcclCommDestroy(comm))
    own = Floats(1)
    ok(hccl.HcclAllReduce(own, own, 1, FP32, SUM, comms[0], None))
    return asynchronous_error(comms[0])


def of_the_stream() -> int:
    """Return the code of the synchronisation after a collective that failed."""
    comm = communicators()[0]
    array = Floats(1)
    ok(hccl.HcclRecv(array, 1, FP32, 0, comm, None))  # a rank receives from itself what it has not sent
    return acl.aclrtSynchronizeStream(None)


def in_a_forked_process() -> int:
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, bytes([hccl.HcclAllReduce(own, own, 1, FP32, SUM, comms[0], None)]))
        os._exit(0)
    os.wait()
    return os.read(reader, 1)[0]


def where_nobody_can_listen() -> int:
    os.environ["MASTER_ADDR"] = "no.such.host.invalid"
    code = hccl.HcclGetRootInfo(ctypes.create_string_buffer(4108))
    del os.environ["MASTER_ADDR"]
    return code


def where_nobody_listens() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    info = ctypes.create_string_buffer(f"127.0.0.1 {port} key".encode(), 4108)
    return hccl.HcclCommInitRootInfo(2, info, 1, byref(c_void_p()))


def unexpected() -> int:
    ok(acl.torchAclnnHostSetFaults(b"HcclBarrier:1"))
    code = hccl.HcclBarrier(comms[0], None)
    ok(acl.torchAclnnHostSetFaults(None))
    return code


ok(acl.aclInit(None))
comms = communicators()
own = Floats(1)
print(
    json.dumps(
        {
            "HCCL_E_PARA": hccl.HcclAllReduce(own, own, 1, 99, SUM, comms[0], None),
            "HCCL_E_PTR": hccl.HcclAllReduce(None, own, 1, FP32, SUM, comms[0], None),
            "HCCL_E_MEMORY": freed_before_it_ran(),
            "HCCL_E_INTERNAL": unexpected(),
            "HCCL_E_NOT_SUPPORT": hccl.HcclSetConfig(1, ctypes.c_int64(1)),
            "HCCL_E_UNAVAIL": in_a_forked_process(),
            "HCCL_E_SYSCALL": where_nobody_can_listen(),
            "HCCL_E_TIMEOUT": alone(destroy_others=False),
            "HCCL_E_TCP_CONNECT": where_nobody_listens(),
            "HCCL_E_RUNTIME": hccl.HcclBarrier(comms[0], NO_STREAM),
            "HCCL_E_REMOTE": alone(destroy_others=True),
            "ACL_ERROR_RT_IPC_ERROR": of_the_stream(),
        }
    )
)
