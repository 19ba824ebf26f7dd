"""cross_entropy.cpp: rows whose target is ignored count for nothing, whatever they are."""

import math

import pytest
import torch
import torch_npu

from cases import DEVICE, close


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_an_ignored_row_may_be_no_number(reduction):
    logits = torch.tensor([[1.0, 2.0, 3.0], [math.nan, math.inf, 1.0]])
    target = torch.tensor([0, 1])
    leaf = logits.to(DEVICE).requires_grad_()
    loss = torch_npu.npu_cross_entropy_loss(leaf, target.to(DEVICE), ignore_index=1, reduction=reduction)[0]
    loss.sum().backward()
    here = logits[:1].double().requires_grad_()
    expected = torch.nn.functional.cross_entropy(here, target[:1])
    expected.backward()
    close(loss.sum(), expected)
    close(leaf.grad, torch.cat((here.grad, torch.zeros(1, 3, dtype=torch.float64))))
