"""triangle_attention.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, close, on_npu, there
from definitions import exponentials, halves


@pytest.mark.parametrize("masked", [False, True])
def test_attention_by_way_of_others(masked):
    b, h, n, m, k, d = 2, 2, 3, 5, 4, 8
    q, k1, v1, k2, v2, grad = (halves(b, h, *s, d) for s in ((n, m), (n, k), (n, k), (k, m), (k, m), (n, m)))
    mask = torch.rand(b, 1, n, 1, k) > 0.6 if masked else None
    if masked:
        mask[..., 0] = False
    leaves = [t.double().requires_grad_() for t in (q, k1, v1, k2, v2)]
    scores = torch.einsum("bhnmd,bhnkd->bhnmk", leaves[0], leaves[1]) + torch.einsum("bhnmd,bhkmd->bhnmk", leaves[0], leaves[3])
    scores = scores * 0.3 if mask is None else (scores * 0.3).masked_fill(mask, -torch.inf)
    weights = scores.softmax(4)
    expected = torch.einsum("bhnmk,bhnkd->bhnmd", weights, leaves[2]) + torch.einsum("bhnmk,bhkmd->bhnmd", weights, leaves[4])
    options = {"atten_mask": None if mask is None else mask.to(DEVICE), "scale_value": 0.3}
    on_device = there(q, k1, v1, k2, v2)
    maximum, total, out = torch_npu.npu_fused_floyd_attention(*on_device, **options)
    close(out, expected)
    close((maximum[..., 0], total[..., 7]), exponentials(scores))
    got = on_npu(torch_npu.npu_fused_floyd_attention_backward, grad, *on_device, out, maximum, total, **options)
    close(got, torch.autograd.grad(expected, leaves, grad.double()), 2e-2)
