"""fused_cross_entropy.cpp against definitions in float64."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, close, on_npu, there


@pytest.mark.parametrize("whole", [True, False])
def test_a_loss_whose_classes_are_spread(whole):
    """Over two ranks: what each computes, what they compare, and the gradients, which are those of the whole."""
    x, weight, target = torch.randn(11, 6).half(), torch.randn(300, 6).half(), torch.randint(300, (11,))
    leaves = [t.double().requires_grad_() for t in (x, weight)]
    logits = leaves[0] @ leaves[1].t()
    expected, grad = F.cross_entropy(logits, target, reduction="none"), torch.rand(11)
    wanted = torch.autograd.grad(expected, leaves, grad.double())
    parts = []
    for rank in range(2):
        first = 150 * rank
        on_device = there(x, weight[first : first + 150], target)
        parts.append(torch_npu.npu_fused_linear_online_max_sum(*on_device, first, first + 149, whole))
        own = logits[:, first : first + 150].detach()
        close(parts[-1][0], own.amax(1))
        close(parts[-1][1], (own - own.amax(1, keepdim=True)).exp().sum(1))
        missing = (target < first) | (target >= first + 150)
        bits = [int(b) for byte in parts[-1][3].tolist() for b in f"{byte:08b}"]
        assert bits == [*missing.int().tolist(), 1, 1, 1, 1, 1]
        assert parts[-1][4].tolist() == (target - first).masked_fill(missing, 0).tolist()
    largest = torch.maximum(parts[0][0], parts[1][0])
    total = sum(part[1] * torch.exp(part[0] - largest) for part in parts)
    # A rank gives the logits of its targets less its own largest logit.
    present = [torch.tensor([not int(b) for byte in part[3].tolist() for b in f"{byte:08b}"][:11], device=DEVICE) for part in parts]
    predicted = sum((part[2] + part[0] - largest) * has for part, has in zip(parts, present, strict=True))
    of_x = torch.zeros(11, 6).double()
    for rank, part in enumerate(parts):
        mine = weight[150 * rank : 150 * rank + 150]
        loss, softmax = torch_npu.npu_fused_cross_entropy_loss_with_max_sum(
            largest, total, predicted, vocab_parallel_logits=part[5] if whole else None
        )
        close(loss, expected)
        options = {"softmax": softmax} if whole else {"logits_max": largest, "sum_exp_logits": total}
        got = on_npu(torch_npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward, grad, x, mine, part[3], part[4], **options)
        of_x += got[0].double().cpu()
        close(got[1], wanted[1][150 * rank : 150 * rank + 150], 1e-2)
    close(of_x, wanted[0], 2e-2)
