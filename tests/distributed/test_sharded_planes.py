"""Tensors of torch.distributed.tensor: what is sharded over samples and channels stays so, and planes are made whole."""

import pytest

from support.rank_calls import call_in_ranks, device_of, values_of


@pytest.mark.parametrize("backend", ["gloo", "hccl"])
def test_results_and_gradients_are_those_of_one_process(backend):
    first, second = values_of(call_in_ranks("support.sharded_planes:differences", 2, device_of(backend), backend=backend))
    assert first == second
    for case, (same_result, same_gradient, placement) in first.items():
        assert same_result and same_gradient, case
        if "dim=0" in case or "dim=1" in case:
            assert placement.startswith("S"), case  # no process received planes that it does not need
