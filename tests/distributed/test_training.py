"""Training over several processes: data, tensor and fully sharded parallelism, beside one process with the joint batch."""

from pathlib import Path

import pytest

from support.rank_calls import call_in_ranks, values_of


@pytest.mark.slow
def test_practices_of_two_processes_and_of_four_which_load_their_checkpoint(tmp_path: Path) -> None:
    for size, function in ((2, "run_two"), (4, "run_four")):
        # Tensors that are offloaded to the host are communicated from the host.
        backend = "cpu:gloo,npu:hccl"
        values_of(call_in_ranks(f"support.parallel_training:{function}", size, str(tmp_path), backend=backend, seconds=600))
