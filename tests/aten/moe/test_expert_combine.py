"""expert_combine.cpp on one rank: what comes back of experts that double, triple and so on what they are given."""

import pytest
import torch
import torch_npu
from arguments import COMMUNICATOR
from checks import DEVICE, close, on_npu, there
from definitions import choices, rms_norm

from direct import call

GROUP = (COMMUNICATOR.decode(), 1, 0, 4)


@pytest.mark.parametrize("normalized", [False, True])
def test_combine(normalized):
    x, experts, scales = torch.randn(5, 8).bfloat16(), choices(5, 2, 4).int(), torch.rand(5, 2)
    rows, _, info, counts, received, *_ = on_npu(torch_npu.npu_moe_distribute_dispatch_v2, x, experts, *GROUP, expert_token_nums_type=1)
    made = rows * torch.arange(1, 5, device=DEVICE).repeat_interleave(counts).unsqueeze(1)
    arguments = *there(experts), info, received, *there(scales)
    exact = (scales.double() * (experts + 1)).sum(1, keepdim=True) * x.double()
    if not normalized:
        close(torch_npu.npu_moe_distribute_combine_v2(made, *arguments, *GROUP), exact)
        return
    residual, gamma = torch.randn(5, 1, 8).bfloat16(), torch.rand(8).bfloat16()
    y, _, total = on_npu(torch_npu.npu_moe_distribute_combine_add_rms_norm, made, *arguments, residual, gamma, *GROUP, norm_eps=1e-6)
    exact = exact.unsqueeze(1) + residual.double()
    close((total, y), (exact, rms_norm(exact, gamma)), 3e-2)


def test_a_barrier_changes_nothing():
    x = torch.arange(3.0, device=DEVICE)
    call("aclnnDistributeBarrier", x, COMMUNICATOR, 1)
    call("aclnnDistributeBarrierV2", x, None, None, COMMUNICATOR, 1)
    assert x.tolist() == [0, 1, 2]
