"""What processes on `npu` do first: parallel training, graphs with collectives, and tensors of torch.distributed.tensor."""

from pathlib import Path

import pytest

from support.rank_calls import call_in_ranks, device_of, values_of

USES = ("support.sync_batch_norm_use:gradients_accumulate_under_no_sync", "support.parallel_training:fully_sharded")


@pytest.mark.parametrize("function", USES, ids=["DistributedDataParallel", "fully_shard"])
def test_a_network_trains_like_in_one_process(function):
    values_of(call_in_ranks(function, 2, "npu", backend="hccl"))


def test_captured_collectives_are_done_with_each_replay():
    assert values_of(call_in_ranks("support.captured_collectives:replayed", 2, backend="hccl")) == [[[6.0, 14.0], [12.0, 28.0]]] * 2


@pytest.mark.slow
def test_practices_of_two_processes_and_of_four_which_load_their_checkpoint(tmp_path: Path) -> None:
    for size, function in ((2, "run_two"), (4, "run_four")):
        # What is offloaded to the host is communicated from there.
        backend = "cpu:gloo,npu:hccl"
        values_of(call_in_ranks(f"support.parallel_training:{function}", size, str(tmp_path), backend=backend, seconds=600))


@pytest.mark.parametrize("backend", ["gloo", "hccl"])
def test_results_and_gradients_are_those_of_one_process(backend):
    first, second = values_of(call_in_ranks("support.sharded_planes:differences", 2, device_of(backend), backend=backend))
    assert first == second
    for case, (same_result, same_gradient, placement) in first.items():
        assert same_result and same_gradient, case
        if "dim=0" in case or "dim=1" in case:
            assert placement.startswith("S"), case  # no process got planes that it need not have
