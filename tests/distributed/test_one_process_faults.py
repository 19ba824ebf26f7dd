"""Faults of a C program that calls libhccl.so, with all ranks in one process."""

import json
import re

import pytest
from torch_aclnn.loading.modes import host_mode

from support.ranks import Rank, run_ranks


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Rank:
    (ended,) = run_ranks(
        "one_process_faults", 1, tmp_path_factory.mktemp("faults"),
        TORCH_ACLNN_HOST_DEVICES="3", HCCL_EXEC_TIMEOUT="2", **host_mode("leaks"),
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:]
    return ended


@pytest.fixture(scope="module")
def results(process: Rank) -> dict:
    return json.loads(process.stdout)


@pytest.mark.parametrize(("call", "message"), [
    ("host memory", "HcclAllReduce: sendBuf: expected device memory, got an address that is in no allocation of a device"),
    ("received into host memory", "HcclRecv: recvBuf: expected device memory, got an address that is in no allocation of a device"),
    ("beyond the allocation", "HcclAllReduce: sendBuf: expected 16 bytes of device memory, got an address whose allocation goes on for 12"),
    ("for one rank only", "HcclAllGather: recvBuf: expected 36 bytes of device memory, got an address whose allocation goes on for 12"),
    ("too many bytes", "HcclBroadcast: count: expected a number of elements that memory can hold, got 4611686018427387904"),
    ("too far", "HcclAlltoAllV: sendCounts and sdispls: expected a number of elements that memory can hold, got 18446744073709551615"),
    ("own count", "HcclAllGatherV: sendCount: expected 1, which recvCounts has for this rank, got 2"),
])  # fmt: skip
def test_wrong_buffers_are_refused(call: str, message: str, results: dict) -> None:
    assert results["refused"][call] == [1, message]


def test_forked_process_is_refused(results: dict) -> None:
    assert results["after fork"] == "HcclAllReduce: the communicator belongs to the process that this one was forked from"


def test_input_that_overlaps_the_output_is_read_first(results: dict) -> None:
    for rank, found in enumerate(results["overlapping"]):
        assert found["gathered"] == [0, 10, 1, 11, 2, 12]
        assert found["part"] == [6 * rank, 6 * rank + 3]
        assert found["summed"] == [3, 6, 9]


def test_free_waits_for_a_collective_on_the_memory(results: dict) -> None:
    assert results["freed meanwhile"] == [[0, True, 0], [3], [3]]


def test_memory_freed_before_its_collective_is_an_error_on_all_ranks(results: dict) -> None:
    own, *others = (message for _, message in results["freed before"])
    assert "sendBuf: expected device memory" in own
    assert "because it was freed after the launch" in own
    for message in others:
        assert "HcclAllReduce of 1 float32, sum on rank" in message


def test_communicators_in_another_order_on_one_stream_time_out(results: dict) -> None:
    for rank, (code, message, seconds) in enumerate(results["in another order"]):
        assert code != 0
        assert f"HcclAllReduce of 1 float32, sum on rank {rank} of 3" in message
        assert seconds < 6


def test_failure_is_left_to_the_program_before_the_watchdog_hears_of_it(results: dict) -> None:
    wrong_parameter = 1
    assert results["told to the watchdog"] == [0, wrong_parameter, 0]


def test_destruction_during_use_ends_with_the_timeout(results: dict) -> None:
    code, message, seconds = results["destroyed in use"]
    assert code == 507022
    assert "HcclAllReduce of 1 float32, sum on rank 0 of 3" in message
    assert "not heard of: rank 1, 2" in message
    assert seconds < 5


def test_destruction_by_a_peer_is_told_in_the_message_alone(process: Rank, results: dict) -> None:
    destroyed, *others = results["destroyed by a peer"]
    assert destroyed == [0]
    for code, message in others:
        assert code == 507022
        assert "not heard of: rank 0" in message
    assert "frame #" not in process.stderr


def test_leak_report_lists_communicators(process: Rank) -> None:
    listed = re.findall(r"not destroyed before aclFinalize: HcclComm 0x\w+, communicator \w+, rank (\d) of 3", process.stderr)
    assert listed == ["0"]
