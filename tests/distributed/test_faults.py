"""What goes wrong between ranks: each surviving rank gets an error that says what, in time, and nothing hangs."""

import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.ranks import Rank, run_ranks
from support.subprocesses import run_python


def errors_of(rank: Rank) -> list[dict]:
    """Return what the program printed."""
    return [json.loads(line) for line in rank.stdout.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def mismatches(tmp_path_factory: pytest.TempPathFactory) -> list[Rank]:
    """Two ranks that call something else in turn."""
    return run_ranks("faults", 2, tmp_path_factory.mktemp("mismatches"), "mismatches")


@pytest.mark.parametrize(("number", "differing"), list(enumerate([
    "rank 0: HcclAllReduce of 4 float32, sum; rank 1: HcclBroadcast of 4 float32, root 0",
    "rank 0: HcclAllReduce of 4 float32, sum; rank 1: HcclAllReduce of 4 float16, sum",
    "rank 0: HcclAllReduce of 4 float32, sum; rank 1: HcclAllReduce of 5 float32, sum",
    "rank 0: HcclBroadcast of 4 float32, root 0; rank 1: HcclBroadcast of 4 float32, root 1",
    "rank 0: HcclAllReduce of 4 float32, sum; rank 1: HcclAllReduce of 4 float32, max",
    "rank 0 gives rank 1 1 elements, and rank 1 takes 2",
    "rank 0 sends 4 float32, and rank 1 receives 5 float32",
    "rank 0 sends 4 float32, and rank 1 receives 4 float16",
])))  # fmt: skip
def test_mismatch_names_what_each_rank_does(number: int, differing: str, mismatches: list[Rank]) -> None:
    for rank in mismatches:
        assert differing in errors_of(rank)[number]["error"], rank.stderr[-3000:]


def test_group_works_on_after_a_mismatch(mismatches: list[Rank]) -> None:
    for rank in mismatches:
        assert errors_of(rank)[-1] == {"after": [2.0] * 4}
        assert rank.returncode == 0


@pytest.mark.slow
def test_collective_and_message_on_one_communicator_name_both(tmp_path: Path) -> None:
    # With that variable torch_npu has no communicators of two ranks for messages.
    ranks = run_ranks("faults", 2, tmp_path, "kinds", P2P_HCCL_BUFFSIZE="0")
    others = ("HcclRecv of 4 float32 from rank 0", "HcclSend of 4 float32 to rank 0", "HcclBatchSendRecv")
    for rank in ranks:
        assert len(errors_of(rank)) == len(others), rank.stderr[-3000:]
    for number, other in enumerate(others):
        for rank in ranks:
            error = errors_of(rank)[number]
            assert "HcclAllReduce of 4 float32, sum" in error["error"]
            assert other in error["error"] or "HcclRecv" in error["error"]
            assert error["seconds"] < 30  # the timeout is 60


@pytest.mark.slow
def test_ranks_that_both_receive_name_both_after_the_timeout(tmp_path: Path) -> None:
    for number, rank in enumerate(run_ranks("faults", 2, tmp_path, "both receive", "8")):
        (error,) = errors_of(rank)
        assert f"HcclRecv of 4 float32 from rank {1 - number} on rank {number} of 2" in error["error"]
        assert f"rank {1 - number} failed in HcclRecv of 4 float32 from rank {number}" in error["error"]
        assert error["seconds"] < 25


def test_killed_rank_is_an_error_on_the_others(tmp_path: Path) -> None:
    survivor, killed = run_ranks("faults", 2, tmp_path, "killed")
    assert killed.returncode == -9
    first, second = errors_of(survivor)
    assert "HcclAllReduce of 4 float32, sum on rank 0 of 2" in first["error"]
    assert "not heard of: rank 1" in first["error"]
    assert first["seconds"] < 20  # the timeout is 60
    assert "the communicator was lost before, in HcclAllReduce" in second["error"]


@pytest.mark.slow
def test_rank_killed_in_the_middle_is_an_error_on_all_others(tmp_path: Path) -> None:
    ranks = run_ranks("faults", 3, tmp_path, "killed in the middle")
    assert ranks[1].returncode == -9
    for number in (0, 2):
        (error,) = errors_of(ranks[number])
        assert f"sum on rank {number} of 3" in error["error"]
        assert "not heard of: rank 1" in error["error"]
        assert error["seconds"] < 30  # the timeout is 60


@pytest.mark.slow
def test_absent_rank_is_an_error_within_the_timeout(tmp_path: Path) -> None:
    waiting, _ = run_ranks("faults", 2, tmp_path, "absent", "8", awaited=1)
    (error,) = errors_of(waiting)
    assert "HcclAllReduce of 4 float32, sum on rank 0 of 2" in error["error"]
    assert "not heard of: rank 1" in error["error"]
    assert error["seconds"] < 15  # far below a hang, also on a busy machine


@pytest.mark.slow
def test_destroyed_group_is_an_error_on_the_others(tmp_path: Path) -> None:
    waiting, _ = run_ranks("faults", 2, tmp_path, "destroyed", "10", awaited=1)
    (error,) = errors_of(waiting)
    assert "not heard of: rank 1" in error["error"]


@pytest.mark.slow
def test_rank_that_never_comes_is_named(tmp_path: Path) -> None:
    waiting, _ = run_ranks("faults", 2, tmp_path, "never", "4", awaited=1)
    (error,) = errors_of(waiting)
    assert "HcclCommInitRootInfoConfig: rank 0 of 2 waited 3 s for rank 1: " in error["error"]
    assert error["seconds"] < 15


@pytest.mark.slow
def test_unattended_failure_ends_the_process_with_its_message(tmp_path: Path) -> None:
    survivor, _ = run_ranks("faults", 2, tmp_path, "unattended")
    assert survivor.returncode == -6
    assert "HcclAllReduce of 4 float32, sum on rank 0 of 2" in survivor.stderr


@pytest.mark.slow
def test_groups_listen_on_loopback_and_leave_no_sockets_and_no_threads(tmp_path: Path) -> None:
    for rank in run_ranks("faults", 2, tmp_path, "leftovers"):
        assert rank.returncode == 0, rank.stderr[-3000:]
        (counts,) = errors_of(rank)
        assert counts["addresses"] == ["0100007F"]  # 127.0.0.1
        first, *others = counts["after"]  # some threads of torch stay after their first use
        assert counts["during"] > first
        assert first[0] == 0
        assert others == [first] * 2


@pytest.mark.slow
def test_two_communicators_of_the_same_devices_work_in_any_order(tmp_path: Path) -> None:
    for rank in run_ranks("faults", 2, tmp_path, "two groups"):
        assert errors_of(rank) == [{"sums": [[2.0] * 4, [20.0] * 4]}], rank.stderr[-3000:]
        assert rank.returncode == 0


@pytest.mark.slow
def test_communicators_made_in_another_order_are_an_error(tmp_path: Path) -> None:
    ranks = run_ranks("faults", 2, tmp_path, "made in another order", "6")
    errors = [errors_of(rank)[0] for rank in ranks]
    assert "HcclCommInitRootInfoConfig: rank 0 of 2 waited 3 s for rank 1" in errors[0]["error"]
    assert "retrieving hcclUniqueId from [0]" in errors[1]["error"]  # torch_npu asks rank 0 for the other communicator
    assert all(error["seconds"] < 20 for error in errors)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["pending at exit", "interrupted", "aborted"])
def test_process_with_a_pending_collective_ends(fault: str, tmp_path: Path) -> None:
    ended, _ = run_ranks("faults", 2, tmp_path, fault, "8", awaited=1)
    assert ended.returncode is not None, ended.stderr[-3000:]
    assert "HcclAllReduce of 4 float32, sum on rank 0 of 2" in ended.stderr + ended.stdout
    assert ended.seconds < 40


@pytest.mark.slow
@pytest.mark.parametrize("call", ["all_reduce", "broadcast", "message"])
def test_unchecked_difference_neither_hangs_nor_writes_elsewhere(call: str, tmp_path: Path) -> None:
    for rank in run_ranks("faults", 2, tmp_path, "unchecked", "8", TORCH_ACLNN_HOST_CHECK_COLLECTIVES="0", FAULT_CALL=call):
        if rank.returncode == -signal.SIGABRT:  # Gloo ends a process that is sent more than it expects
            assert "Received data size doesn't match expected size" in rank.stderr
        else:
            assert rank.returncode == 3, rank.stderr[-3000:]
            assert errors_of(rank)[-1] == {"around": [7.0]}


@pytest.mark.slow
def test_jobs_side_by_side_do_not_disturb_each_other(tmp_path: Path) -> None:
    directories = [tmp_path / name for name in ("one", "other")]
    for directory in directories:
        directory.mkdir()
    with ThreadPoolExecutor() as executor:
        jobs = list(executor.map(lambda directory: run_ranks("faults", 2, directory, "two groups"), directories))
    for rank in (*jobs[0], *jobs[1]):
        assert errors_of(rank) == [{"sums": [[2.0] * 4, [20.0] * 4]}], rank.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["HCCL_EXEC_TIMEOUT", "HCCL_CONNECT_TIMEOUT"])
@pytest.mark.parametrize("value", ["soon", "-1", "1e3"])
def test_bad_timeouts_are_refused_by_name(name: str, value: str, tmp_path: Path) -> None:
    (process,) = run_ranks("one_process", 1, tmp_path, TORCH_ACLNN_HOST_DEVICES="3", **{name: value})
    assert process.returncode != 0
    assert f"{name}: expected a number of seconds, got {value}" in process.stderr


@pytest.mark.slow
def test_port_of_the_job_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code = "import torch_aclnn, torch.distributed as dist; dist.init_process_group('hccl')"
        done = run_python(code, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK="0", WORLD_SIZE="2")
    assert done.returncode != 0
    assert f"port: {port}" in done.stderr and "EADDRINUSE" in done.stderr
