"""expert_dispatch.cpp against definitions in float64."""

import pytest
import torch
from arguments import COMMUNICATOR
from checks import DEVICE, close, there
from definitions import choices

from direct import call


@pytest.mark.parametrize("quantised", [False, True])
def test_dispatch_and_combine_in_two_parts(quantised):
    """On one rank, whose experts double, triple and so on what they are given."""
    x, experts, scales = torch.randn(5, 8).half(), choices(5, 2, 3).int(), torch.rand(5, 2)
    mask = torch.rand(5, 2) < 0.7
    group = (COMMUNICATOR, 1, 0, 3, 0, 1, 0)
    bytes_of_row = torch.int8 if quantised else torch.float16
    packed = torch.zeros(15, 512 if quantised else 256, dtype=bytes_of_row, device=DEVICE)
    index, info = torch.zeros(10, device=DEVICE).int(), torch.zeros((15 + 3) * 16, device=DEVICE).int()
    here = there(x, experts, mask)
    call("aclnnMoeDistributeDispatchSetup", *here[:2], None, here[2], *group, 2 * quantised, 0, 0, b"", packed, index, info)
    rows, row_scales = torch.zeros(10, 8, dtype=bytes_of_row, device=DEVICE), torch.zeros(10, device=DEVICE)
    assist, numbers = torch.zeros(10 * 128, device=DEVICE).int(), torch.zeros(3, device=DEVICE).long()
    outputs = (rows, row_scales, assist, numbers)
    call("aclnnMoeDistributeDispatchTeardown", here[0], packed, here[1], info, *group, 2 * quantised, 0, 1, 0, b"", *outputs)
    assert numbers.cpu().tolist() == [int(((experts == expert) & mask).sum()) for expert in range(3)]
    factor = torch.repeat_interleave(torch.arange(1, 4), numbers.cpu())
    made = torch.zeros(10, 8, dtype=torch.float16, device=DEVICE)
    given = rows.double() * row_scales.double().unsqueeze(1) if quantised else rows.double()
    made[: len(factor)] = (given[: len(factor)] * factor.to(DEVICE).unsqueeze(1)).half()
    empty, commands = torch.zeros(10, 512, dtype=torch.int8, device=DEVICE), torch.zeros(11 * 16, device=DEVICE).int()
    call("aclnnMoeDistributeCombineSetup", made, here[1], assist, *group, 0, 0, 0, b"", empty, commands)
    out = torch.zeros(5, 8, dtype=torch.float16, device=DEVICE)
    combined = (made, empty, here[1], index, scales.to(DEVICE), commands, here[2], None)
    call("aclnnMoeDistributeCombineTeardown", *combined, *group, 0, 0, 0, b"", out)
    weight = (scales.double() * mask * (experts + 1)).sum(1, keepdim=True)
    close(out, weight * x.double(), 2e-2 if quantised else 2e-3, 3e-2 if quantised else 2e-3)
