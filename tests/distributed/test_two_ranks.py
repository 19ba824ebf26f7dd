"""What two processes on `npu` do first: a wrapped network with synchronised batch norm, a sharded one, and a graph with collectives."""

import pytest

from support.rank_calls import call_in_ranks, values_of

USES = ("support.sync_batch_norm_use:gradients_accumulate_under_no_sync", "support.parallel_training:fully_sharded")


@pytest.mark.parametrize("function", USES, ids=["DistributedDataParallel", "fully_shard"])
def test_a_network_trains_like_in_one_process(function):
    values_of(call_in_ranks(function, 2, "npu", backend="hccl"))


def test_captured_collectives_are_done_with_each_replay():
    assert values_of(call_in_ranks("support.captured_collectives:replayed", 2, backend="hccl")) == [[[6.0, 14.0], [12.0, 28.0]]] * 2
