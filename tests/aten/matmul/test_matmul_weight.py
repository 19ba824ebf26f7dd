"""matmul_weight.cpp: a weight that is rearranged where it is has a storage that holds its blocks."""

import torch

from cases import DEVICE
from direct import refusal


def test_a_storage_that_does_not_hold_the_blocks_is_refused():
    code, message = refusal("aclnnTransMatmulWeight", torch.ones(7, 5, dtype=torch.half, device=DEVICE))
    assert code == 161002 and "room for 512 bytes, got 70" in message
