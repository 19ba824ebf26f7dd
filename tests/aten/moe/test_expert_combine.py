"""expert_combine.cpp on one rank; tests/distributed/test_expert_parallel.py tests the results of experts on other ranks."""

import torch
from arguments import COMMUNICATOR
from checks import DEVICE

from direct import call


def test_a_barrier_changes_nothing():
    x = torch.arange(3.0, device=DEVICE)
    call("aclnnDistributeBarrier", x, COMMUNICATOR, 1)
    call("aclnnDistributeBarrierV2", x, None, None, COMMUNICATOR, 1)
    assert x.tolist() == [0, 1, 2]
