"""cross_entropy.cpp against definitions in float64."""

import math

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, FLOATS, close, on_npu


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(smoothing, reduction, dtype):
    x, target, weight = torch.randn(6, 5).to(dtype), torch.tensor([1, 4, 2, 0, 2, 3]), torch.rand(5) + 0.1
    leaf, here = x.to(DEVICE).requires_grad_(), x.double().requires_grad_()
    loss, log_prob, _, _ = on_npu(
        torch_npu.npu_cross_entropy_loss, leaf, target, weight, reduction=reduction, ignore_index=2, label_smoothing=smoothing
    )
    expected = F.cross_entropy(here, target, weight.double(), reduction=reduction, ignore_index=2, label_smoothing=smoothing)
    close(loss.detach().flatten(), expected.detach().flatten())
    close(log_prob.detach(), here.detach().log_softmax(1))
    cotangent = torch.rand(loss.shape) + 0.5
    loss.backward(cotangent.to(dtype).to(DEVICE))
    expected.backward(cotangent.to(dtype).double().view(expected.shape))
    close(leaf.grad, here.grad)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_an_ignored_row_may_be_no_number(reduction):
    logits = torch.tensor([[1.0, 2.0, 3.0], [math.nan, math.inf, 1.0]])
    target = torch.tensor([0, 1])
    leaf = logits.to(DEVICE).requires_grad_()
    loss = torch_npu.npu_cross_entropy_loss(leaf, target.to(DEVICE), ignore_index=1, reduction=reduction)[0]
    loss.sum().backward()
    here = logits[:1].double().requires_grad_()
    expected = F.cross_entropy(here, target[:1])
    expected.backward()
    close(loss.sum(), expected)
    close(leaf.grad, torch.cat((here.grad, torch.zeros(1, 3, dtype=torch.float64))))
