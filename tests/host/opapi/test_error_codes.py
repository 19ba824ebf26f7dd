"""The table of the codes that the engine returns: that of the document, each code provoked, and nothing beside it."""

import ctypes
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from ctypes import byref, c_int64, c_uint64, c_void_p
from typing import Any

import pytest
from torch_aclnn.host.codes import error_codes
from torch_aclnn.loading.paths import libdir

from support.dtypes import DType
from support.operators import GOOD, ROWS
from support.ranks import run_ranks
from support.runtime import HOST_FUNCTION
from support.tensors import Tensor, but

AVG_POOL2D = ROWS["avg_pool2d"].entry_point.name
CODES = {code.name: code.number for code in error_codes()}
COLLECTIVES = [code.name for code in error_codes() if code.layer == "collectives"]
NO_HANDLE = c_void_p(0x1234)
CALLBACK = HOST_FUNCTION(lambda _: None)


def synchronised(client: Any, enqueue: Callable[..., int], stream: int) -> int:
    assert enqueue(stream) == 0
    return client.acl.aclrtSynchronizeStream(stream)


def with_fault(client: Any, fault: str, call: Callable[[], int]) -> int:
    client.acl.ok("torchAclnnHostSetFaults", fault.encode())
    try:
        return call()
    finally:
        client.acl.ok("torchAclnnHostSetFaults", None)


def in_time(client: Any, stream: int) -> int:
    """Return the code of a synchronisation with a stream that is busy for longer than the timeout."""
    started, go_on = threading.Event(), threading.Event()

    @ctypes.CFUNCTYPE(None, c_void_p)
    def stay(_: object) -> None:
        started.set()
        go_on.wait(10)

    thread = threading.Thread(target=client.acl.aclrtLaunchHostFunc, args=(stream, stay, None))
    thread.start()
    assert started.wait(10)
    code = client.acl.aclrtSynchronizeStreamWithTimeout(stream, 5)
    go_on.set()
    thread.join()
    client.acl.ok("aclrtSynchronizeStream", stream)
    return code


def phase1(client: Any, **changes: Any) -> int:
    with client.call(AVG_POOL2D, but(GOOD[AVG_POOL2D], **changes)) as call:
        return call.phase1()


def during_capture(client: Any, stream: int, call: Callable[[], int]) -> int:
    client.acl.ok("aclmdlRICaptureBegin", stream, 0)
    code, graph = call(), c_void_p()
    if client.acl.aclmdlRICaptureEnd(stream, byref(graph)) == 0:
        client.acl.ok("aclmdlRIDestroy", graph)
    return code


def without_return(client: Any, stream: int) -> int:
    """Return the code of the end of a capture that another stream has joined."""
    other, event = client.acl.create("aclrtCreateStream"), client.acl.create("aclrtCreateEvent")
    client.acl.ok("aclmdlRICaptureBegin", stream, 0)
    client.acl.ok("aclrtRecordEvent", event, stream)
    client.acl.ok("aclrtStreamWaitEvent", other, event)
    code = client.acl.aclmdlRICaptureEnd(stream, byref(c_void_p()))
    client.acl.ok("aclrtDestroyStream", other)
    client.acl.ok("aclrtDestroyEvent", event)
    return code


def without_callback(client: Any, stream: int) -> int:
    """Return the code of a wait for a callback of a stream that has none."""
    this_thread = threading.get_ident()
    client.acl.ok("aclrtSubscribeReport", this_thread, stream)
    code = client.acl.aclrtProcessReport(1)
    client.acl.ok("aclrtUnSubscribeReport", this_thread, stream)
    return code


def phase2(client: Any, stream: c_void_p) -> int:
    with client.prepared(AVG_POOL2D, GOOD[AVG_POOL2D]) as call:
        return call.phase2(stream)


def beyond_storage(client: Any) -> int:
    memory = client.allocate(64)
    x, out = (client.tensor(Tensor((2,)), (elements,), memory) for elements in (1, 2))
    code = client.opapi.aclnnAbsGetWorkspaceSize(c_void_p(x), c_void_p(out), byref(c_uint64()), byref(c_void_p()))
    for handle in (x, out):
        client.destroy("Tensor", handle)
    client.free(memory)
    return code


def with_heads_of_two_features(client: Any) -> int:
    """Return the code of attention of packed sequences, whose heads hardware takes of few sizes."""
    memory = client.allocate(64)
    query, key, value, out = (c_void_p(client.tensor(Tensor((2, 1, 2), DType.FLOAT16), (4,), memory)) for _ in range(4))
    lists = [c_void_p(client.opapi.aclCreateTensorList(byref(one), 1)) for one in (key, value)]
    ends = c_void_p(client.int_array([2]))
    sizes = [c_int64(number) for number in (1, 9, 9, 1, 0, 0, 0, 0)]
    numbers = sizes[0], ctypes.c_double(1), *sizes[1:3], b"TND", *sizes[3:], False
    code = client.opapi.aclnnFusedInferAttentionScoreGetWorkspaceSize(
        query, *lists, None, None, ends, ends, *[None] * 10, *numbers, out, None, byref(c_uint64()), byref(c_void_p())
    )
    for kind, handles in {"TensorList": lists, "IntArray": [ends], "Tensor": [query, out]}.items():
        for handle in handles:
            client.destroy(kind, handle)
    client.free(memory)
    return code


# Each code of the runtime and of the operators, as a call that returns it: from the client, the tasks of the tests, and a live stream.
PROVOKED: dict[str, Callable[[Any, Any, int], int]] = {
    "ACL_ERROR_INVALID_PARAM": lambda client, tasks, stream: client.acl.aclrtMemcpy(None, 8, None, 8, 0),
    "ACL_ERROR_RT_PARAM_INVALID": lambda client, tasks, stream: client.acl.aclrtMalloc(byref(c_void_p()), 0, 0),
    "ACL_ERROR_RT_INVALID_DEVICEID": lambda client, tasks, stream: client.acl.aclrtSetDevice(-1),
    "ACL_ERROR_RT_STREAM_SUBSCRIBE": lambda client, tasks, stream: client.acl.aclrtUnSubscribeReport(1, stream),
    "ACL_ERROR_RT_THREAD_SUBSCRIBE": lambda client, tasks, stream: client.acl.aclrtProcessReport(1),
    "ACL_ERROR_RT_STREAM_NO_CB_REG": lambda client, tasks, stream: client.acl.aclrtLaunchCallback(CALLBACK, None, 1, stream),
    "ACL_ERROR_RT_REPORT_TIMEOUT": lambda client, tasks, stream: without_callback(client, stream),
    "ACL_ERROR_RT_INVALID_HANDLE": lambda client, tasks, stream: client.acl.aclrtSynchronizeStream(NO_HANDLE),
    "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT": lambda client, tasks, stream: in_time(client, stream),
    "ACL_ERROR_RT_STREAM_UNJOINED": lambda client, tasks, stream: without_return(client, stream),
    "ACL_ERROR_RT_STREAM_CAPTURED": lambda client, tasks, stream: during_capture(
        client, stream, lambda: client.acl.aclrtSynchronizeStream(stream)
    ),
    "ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT": lambda client, tasks, stream: during_capture(
        client, stream, lambda: client.acl.aclrtMemset(stream, 0, 0, 0)
    ),
    "ACL_ERROR_BAD_ALLOC": lambda client, tasks, stream: tasks.run_out_of_memory(),
    "ACL_ERROR_API_NOT_SUPPORT": lambda client, tasks, stream: client.acl.aclmdlInitDump(),
    "ACL_ERROR_RT_FEATURE_NOT_SUPPORT": lambda client, tasks, stream: client.acl.aclrtSetDeviceSatMode(0),
    "ACL_ERROR_RT_MEMORY_ALLOCATION": lambda client, tasks, stream: client.acl.aclrtMalloc(byref(c_void_p()), 1 << 60, 0),
    "ACL_ERROR_INTERNAL_ERROR": lambda client, tasks, stream: tasks.throw_what_is_no_exception(),
    "ACL_ERROR_RT_TS_ERROR": lambda client, tasks, stream: with_fault(
        client, "stream:1", lambda: synchronised(client, tasks.enqueue_counting_task, stream)
    ),
    "ACL_ERROR_RT_LOST_HEARTBEAT": lambda client, tasks, stream: with_fault(
        client, "aclrtCreateStream:1=507010", lambda: client.acl.aclrtCreateStream(byref(c_void_p()))
    ),
    "ACL_ERROR_RT_AICORE_EXCEPTION": lambda client, tasks, stream: synchronised(client, tasks.enqueue_throwing_task, stream),
    "ACL_ERROR_RT_DRV_INTERNAL_ERROR": lambda client, tasks, stream: with_fault(
        client, "aclrtRecordEvent:1", lambda: client.acl.aclrtRecordEvent(None, None)
    ),
    "ACLNN_ERR_PARAM_NULLPTR": lambda client, tasks, stream: phase1(client, gradOutput=None),
    "ACLNN_ERR_PARAM_INVALID": lambda client, tasks, stream: phase1(client, cubeMathType=99),
    "ACLNN_ERR_INNER_TILING_ERROR": lambda client, tasks, stream: with_heads_of_two_features(client),
    "ACLNN_ERR_INNER_NULLPTR": lambda client, tasks, stream: beyond_storage(client),
    "ACLNN_ERR_RUNTIME_ERROR": lambda client, tasks, stream: phase2(client, NO_HANDLE),
    "ACLNN_ERR_INNER": lambda client, tasks, stream: tasks.run_out_of_memory_in_phase2(),
    "ACLNN_ERR_INNER_CREATE_EXECUTOR": lambda client, tasks, stream: tasks.run_out_of_memory_in_phase1(),
}

# Codes that need a process of their own, because they come at its beginning or end.
PROVOKED_IN_A_PROCESS = {
    "ACL_ERROR_UNINITIALIZE": "acl.aclFinalize()",
    "ACL_ERROR_REPEAT_INITIALIZE": "[acl.aclInit(None), acl.aclInit(None)][1]",
    "ACL_ERROR_REPEAT_FINALIZE": "[acl.aclInit(None), acl.aclFinalize(), acl.aclFinalize()][2]",
    "ACL_ERROR_RT_CONTEXT_NULL": "acl.aclrtSynchronizeStream(None)",
}
WITHOUT_ADAPTERS = "ACLNN_ERR_INNER_FIND_KERNEL_ERROR"
PROVOKED_BY_COLLECTIVES = [*COLLECTIVES, "ACL_ERROR_RT_IPC_ERROR"]


def test_each_code_of_the_table_is_provoked():
    assert CODES.keys() == {*PROVOKED, *PROVOKED_IN_A_PROCESS, *PROVOKED_BY_COLLECTIVES, WITHOUT_ADAPTERS}
    assert len(set(CODES.values())) == len(CODES) and 0 not in CODES.values()


@pytest.mark.parametrize("name", PROVOKED)
def test_a_code_of_the_table_is_returned(aclnn, tasks, stream, name):
    assert PROVOKED[name](aclnn, tasks, stream) == CODES[name]


@pytest.mark.parametrize("name", PROVOKED_IN_A_PROCESS)
def test_a_code_of_a_process_that_begins_or_ends_is_returned(run_engine, name):
    assert run_engine(f"print({PROVOKED_IN_A_PROCESS[name]})").stdout == f"{CODES[name]}\n"


def test_the_code_of_a_call_without_the_library_of_the_adapters(tmp_path):
    for name in ("ascendcl", "opapi", "torch_aclnn_kernels"):
        shutil.copy(libdir() / f"lib{name}.so", tmp_path)
    call = f"import ctypes; print(ctypes.CDLL('{tmp_path}/libopapi.so').aclnnAbsGetWorkspaceSize(None, None, None, None))"
    ended = subprocess.run([sys.executable, "-S", "-c", call], env={}, capture_output=True, text=True)
    assert ended.stdout == f"{CODES[WITHOUT_ADAPTERS]}\n", ended.stderr


@pytest.mark.slow
def test_the_codes_of_collectives_are_returned(tmp_path):
    settings = {"TORCH_ACLNN_HOST_DEVICES": "3", "HCCL_EXEC_TIMEOUT": "1", "HCCL_CONNECT_TIMEOUT": "2"}
    (ended,) = run_ranks("hccl_codes", 1, tmp_path, limit=100, **settings)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert json.loads(ended.stdout) == {name: CODES[name] for name in PROVOKED_BY_COLLECTIVES}


def test_a_code_that_is_not_in_the_table_does_not_leave_the_engine(aclnn, tasks):
    assert tasks.return_a_code_that_is_in_no_table() == CODES["ACL_ERROR_INTERNAL_ERROR"]
    assert aclnn.message() == "aclnnX: it went wrong (123456, which is no code of the engine)"
