"""libhccl.so called as C programs call it, with all ranks in one process."""

import json
import sys
import textwrap
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import libdir

from support.ranks import run_ranks
from support.subprocesses import output_of, run_python


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict:
    (process,) = run_ranks("one_process", 1, tmp_path_factory.mktemp("one"), TORCH_ACLNN_HOST_DEVICES="3")
    assert process.returncode == 0, process.stderr[-4000:]
    return json.loads(process.stdout)


def test_communicators_know_who_they_are(results: dict) -> None:
    names = {name for name, _, _ in results["identity"]}
    assert len(names) == 1
    assert [rest for _, *rest in results["identity"]] == [[0, 3], [1, 3], [2, 3]]


def test_collectives_with_counts_and_gaps(results: dict) -> None:
    for rank, found in enumerate(results["collectives"]):
        assert found["summed"] == [3, 3]
        assert found["gathered"] == [0, -1, 1, 1, -1, 2, 2, 2]
        assert found["part"] == [[0], [3, 6], [9, 12, 15]][rank]
        assert found["exchanged"] == [rank, -1, 10 + rank, -1, 20 + rank, -1]


def test_communicator_of_some_ranks(results: dict) -> None:
    assert results["of_some"] == [[3], [], [3]]


def test_what_comes_after_an_unfinished_operation_waits_for_it(results: dict) -> None:
    not_ready, complete, timeout = 1, 1, 107020
    assert results["queued"][0] == [not_ready, 0, timeout, complete]


@pytest.mark.parametrize(("call", "code", "message"), [
    ("null comm", 2, "HcclBarrier: comm: expected a communicator, got null"),
    ("dead comm", 1, "HcclBarrier: comm: expected a live communicator, got 0x1234"),
    ("stream", 15, "HcclBarrier: stream: expected null or a live stream, got 0x1234 (107017)"),
    ("null buffer", 2, "HcclAllReduce: sendBuf: expected a value, got null"),
    ("unaligned", 1, "HcclAllReduce: sendBuf: expected an address that is a multiple of 4, the size of float32, got 0x"),
    ("type", 1, "HcclAllReduce: dataType: expected a value of HcclDataType, got 99"),
    ("op", 1, "HcclAllReduce: op: expected a value of HcclReduceOp, got 9"),
    ("float8", 5, "HcclAllReduce: dataType: expected a type that can be reduced, got float8_e4m3fn"),
    ("root", 1, "HcclBroadcast: root: expected less than 3, got 3"),
    ("peer", 1, "HcclSend: destRank: expected less than 3, got 3"),
    ("null counts", 2, "HcclAllGatherV: recvCounts: expected a value, got null"),
    ("root info", 1, "HcclCommInitRootInfo: rootInfo: expected what HcclGetRootInfo wrote on the root, got something else"),
    ("null root info", 2, "HcclGetRootInfo: rootInfo: expected a value, got null"),
    ("rank", 1, "HcclCommInitRootInfo: rank: expected less than 2, got 2"),
    ("device", 1, "HcclCommInitAll: devices: expected devices in 0..2, got 99"),
    ("device twice", 1, "HcclCommInitAll: devices: expected each device once, got 1 twice"),
    ("destroyed", 1, "HcclCommDestroy: comm: expected a live communicator, got "),
])  # fmt: skip
def test_wrong_arguments_are_refused(call: str, code: int, message: str, results: dict) -> None:
    found = results["refused"][call]
    assert found[0] == code
    assert found[1].startswith(message)


def test_healthy_communicator_has_no_asynchronous_error(results: dict) -> None:
    assert results["healthy"] == 0


def test_listens_on_the_loopback_address(results: dict) -> None:
    assert results["address"] == "127.0.0.1"


ROOT_INFORMATION = f"""
import ctypes, sys
sys.path.append({str(Path(__file__).parents[1])!r})
from support.library import Library
from support.runtime import Runtime
acl, hccl = Runtime({str(libdir() / "libascendcl.so")!r}), Library({str(libdir() / "libhccl.so")!r})
information = ctypes.create_string_buffer(4108)
print(hccl.HcclGetRootInfo(information), acl.aclGetRecentErrMsg().decode())
"""


ONLY_RANK = """
from ctypes import byref, c_float, c_uint32, c_uint64, c_void_p
communicator = c_void_p()
acl.aclInit(None), acl.aclrtSetDevice(0)
stream, given, result = acl.create("aclrtCreateStream"), acl.create("aclrtMalloc", 8, 0), acl.create("aclrtMalloc", 8, 0)
print(hccl.HcclCommInitRootInfo(2, information, 0, byref(communicator)), acl.aclGetRecentErrMsg().decode())
assert hccl.HcclCommInitRootInfo(1, information, 0, byref(communicator)) == 0
acl.aclrtMemcpy(given, 8, (c_float * 2)(3, 4), 8, 1)
two, one, none = 2, (c_uint64 * 1)(2), (c_uint64 * 1)(0)
fp32, add, root, end = 4, 0, 0, (communicator, stream)

class Item(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("buffer", c_void_p), ("count", c_uint64), ("type", ctypes.c_int), ("peer", c_uint32)]

def to_itself():
    assert hccl.HcclSend(given, two, fp32, root, *end) == 0
    return hccl.HcclRecv(result, two, fp32, root, *end)

calls = {
    "HcclAllReduce": lambda: hccl.HcclAllReduce(given, result, two, fp32, add, *end),
    "HcclReduce": lambda: hccl.HcclReduce(given, result, two, fp32, add, root, *end),
    "HcclAllGather": lambda: hccl.HcclAllGather(given, result, two, fp32, *end),
    "HcclAllGatherV": lambda: hccl.HcclAllGatherV(given, two, result, one, none, fp32, *end),
    "HcclReduceScatter": lambda: hccl.HcclReduceScatter(given, result, two, fp32, add, *end),
    "HcclReduceScatterV": lambda: hccl.HcclReduceScatterV(given, one, none, result, two, fp32, add, *end),
    "HcclScatter": lambda: hccl.HcclScatter(given, result, two, fp32, root, *end),
    "HcclAlltoAll": lambda: hccl.HcclAlltoAll(given, two, fp32, result, two, fp32, *end),
    "HcclAlltoAllV": lambda: hccl.HcclAlltoAllV(given, one, none, fp32, result, one, none, fp32, *end),
    "HcclSend": to_itself,
    "HcclBatchSendRecv": lambda: hccl.HcclBatchSendRecv((Item * 2)((0, given, 2, fp32, 0), (1, result, 2, fp32, 0)), 2, *end),
}
for name, call in calls.items():
    acl.aclrtMemset(result, 8, 0, 8)
    assert call() == 0, (name, acl.aclGetRecentErrMsg())
    assert acl.aclrtSynchronizeStream(stream) == 0, name
    assert acl.read(result, 8) == bytes((c_float * 2)(3, 4)), name
assert hccl.HcclBroadcast(given, two, fp32, root, *end) == hccl.HcclBarrier(*end) == acl.aclrtSynchronizeStream(stream) == 0
print(hccl.HcclCommDestroy(communicator))
"""


def test_where_torch_does_not_import_there_is_one_rank() -> None:
    ended = run_python(ROOT_INFORMATION + ONLY_RANK, launcher=(sys.executable, "-S", "-c"), PYTHONPATH="")
    assert ended.stdout.splitlines()[0].startswith("0 "), ended.stderr
    several = "5 HcclCommInitRootInfo: collectives of several ranks need a Python process in which `import torch_aclnn` works"
    assert ended.stdout.splitlines()[1].startswith(several) and ended.stdout.splitlines()[2:] == ["0"], ended.stderr
    assert "No module named 'torch_aclnn'" in ended.stderr


def test_collectives_import_torch_where_the_program_has_not() -> None:
    communicate = """
    assert "torch" in sys.modules
    communicator = ctypes.c_void_p()
    acl.aclInit(None), acl.aclrtSetDevice(0)
    stream = acl.create("aclrtCreateStream")
    print(hccl.HcclCommInitRootInfo(1, information, 0, ctypes.byref(communicator)))
    print(hccl.HcclBarrier(communicator, stream), acl.aclrtSynchronizeStream(stream), hccl.HcclCommDestroy(communicator))
    """
    assert output_of(ROOT_INFORMATION + textwrap.dedent(communicate)).split()[-5:] == ["0"] * 5
