"""What two processes on `npu` do first: a wrapped network with synchronised batch norm, and a sharded one."""

import pytest

from support.rank_calls import call_in_ranks, values_of

USES = ("support.sync_batch_norm_use:gradients_accumulate_under_no_sync", "support.parallel_training:fully_sharded")


@pytest.mark.parametrize("function", USES, ids=["DistributedDataParallel", "fully_shard"])
def test_a_network_trains_like_in_one_process(function):
    values_of(call_in_ranks(function, 2, "npu", backend="hccl"))
