"""expert_gating.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import FLOATS, close, on_npu
from definitions import choices


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("norm_type", [0, 1])
def test_gradient_of_gating(norm_type, dtype):
    x, grad, experts = torch.randn(4, 6, dtype=torch.float64), torch.randn(4, 2).to(dtype), choices(4, 2, 6).int()
    x.requires_grad_()
    scores = x.sigmoid() if norm_type else x.softmax(-1)
    chosen = scores.gather(-1, experts.long())
    y = 2.5 * (chosen / (chosen.sum(-1, True) + 1e-3) if norm_type else chosen)
    (want,) = torch.autograd.grad(y, x, grad.double())
    got = on_npu(
        torch_npu.npu_moe_gating_top_k_backward, scores.detach().float(), grad, experts, norm_type=norm_type, routed_scaling_factor=2.5,
        eps=1e-3,
    )  # fmt: skip
    assert got.dtype == dtype
    close(got, want)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gating_top_k_softmax(dtype):
    x, finished = torch.randn(5, 8).to(dtype), torch.tensor([False, True, False, False, True])
    y, experts, rows = on_npu(torch_npu.npu_moe_gating_top_k_softmax, x, finished, 3)
    values, indices = x.double().softmax(-1).sort(dim=-1, descending=True, stable=True)
    close(y, values[:, :3])
    assert experts.cpu().equal(torch.where(finished.unsqueeze(1), 8, indices[:, :3]).int())
    assert rows.cpu().tolist() == [[j * 5 + i for j in range(3)] for i in range(5)]


@pytest.mark.parametrize("renorm", [0, 1])
def test_gating_top_k_softmax_v2(renorm):
    x = torch.randn(2, 3, 8)
    y, experts, softmax = on_npu(torch_npu.npu_moe_gating_top_k_softmax_v2, x, k=3, renorm=renorm, output_softmax=True)
    values, indices = x.double().sort(-1, descending=True)
    assert experts.cpu().equal(indices[..., :3].int())
    close(y, values[..., :3].softmax(-1) if renorm else x.double().softmax(-1).gather(-1, indices[..., :3]))
    if not renorm:
        close(softmax, x.double().softmax(-1))


def best_of_groups(biased, mode):
    """Three experts of the two best groups: by the largest of each, or by the sum of both."""
    value = {g: sum(sorted(biased[2 * g : 2 * g + 2].tolist())[-(mode + 1) :]) for g in range(4)}
    groups = sorted(value, key=value.get)[-2:]
    return sorted((e for e in range(8) if e // 2 in groups), key=lambda e: -biased[e])[:3]


@pytest.mark.parametrize("norm_type", [0, 1])
@pytest.mark.parametrize("mode", [0, 1, None])
def test_gating_top_k(mode, norm_type):
    """Experts are chosen from the best groups, or those that a table has for the number of a token."""
    x, bias, ids, table = torch.randn(5, 8), torch.randn(8) / 10, torch.tensor([3, 0, 3, 1, 2]), choices(4, 3, 8).int()
    of_groups = {"bias": bias, "k_group": 2, "group_count": 4, "group_select_mode": mode, "eps": 1e-6}
    options = {"input_ids": ids, "tid2eid": table} if mode is None else of_groups
    y, experts, out = on_npu(torch_npu.npu_moe_gating_top_k, x, 3, norm_type=norm_type, out_flag=True, routed_scaling_factor=2.5, **options)
    scores = x.double().sigmoid() if norm_type else x.double().softmax(-1)
    close(out, scores)
    best = table[ids].tolist() if mode is None else [best_of_groups(row + bias.double(), mode) for row in scores]
    assert experts.tolist() == best
    chosen = scores.gather(-1, torch.tensor(best))
    close(y, 2.5 * (chosen / (chosen.sum(-1, True) + 1e-6) if norm_type else chosen))
