"""The collectives of torch.distributed over hccl, each compared with what gloo gives on cpu tensors."""

import json
from pathlib import Path

import pytest

from support.marks import of_a2_and_a3
from support.ranks import Rank, run_ranks


def results_of(rank: Rank) -> dict[str, str]:
    """Return what each check of the program found to differ on this rank."""
    assert rank.returncode == 0, rank.stderr[-4000:]
    found = [json.loads(line) for line in rank.stdout.splitlines() if line.startswith("[")]
    return dict(entry for entry in found if len(entry) == 2)


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.exhaustive), pytest.param(4, marks=pytest.mark.slow)])
@of_a2_and_a3
def test_collectives_equal_gloo(count: int, tmp_path: Path) -> None:
    for rank in run_ranks("collectives", count, tmp_path):
        results = results_of(rank)
        assert results.pop("end") == ""
        assert len(results) > 150
        assert {name: difference for name, difference in results.items() if difference} == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [("TASK_QUEUE_ENABLE", "0"), ("TASK_QUEUE_ENABLE", "2"), ("TORCH_ACLNN_HOST_CHECK_COLLECTIVES", "0"), ("P2P_HCCL_BUFFSIZE", "0")],
)
@pytest.mark.slow
def test_settings_change_no_result(name: str, value: str, tmp_path: Path) -> None:
    for rank in run_ranks("collectives", 2, tmp_path, **{name: value}):
        assert {check: difference for check, difference in results_of(rank).items() if difference} == {}
