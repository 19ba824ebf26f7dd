"""Synchronised batch norm with torch before 2.13, whose torch.distributed has an older name for a collective."""

from support.rank_calls import call_in_ranks, values_of


def test_synchronised_batch_norm_needs_no_name_of_torch_2_13():
    values_of(call_in_ranks("support.sync_batch_norm_use:without_the_name_of_torch_2_13", 2, "cpu"))
