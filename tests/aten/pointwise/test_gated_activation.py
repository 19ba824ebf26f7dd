"""gated_activation.cpp: a threshold leaves out what is equal to it, as torch's does."""

import torch

from cases import DEVICE
from direct import call


def test_what_equals_the_threshold_counts_as_zero():
    x, out = torch.tensor([[0.5, 0.25, 1.0, 2.0, 2.0, 2.0]]).to(DEVICE), torch.empty(1, 3, device=DEVICE)
    call("aclnnFatreluMul", x, torch.tensor([0.5]).to(DEVICE), out)
    assert out.cpu().tolist() == [[0, 0, 2]]
