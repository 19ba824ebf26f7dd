"""expert_gating.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import FLOATS, close, on_npu
from definitions import choices


@pytest.mark.parametrize("norm_type", [0, 1])
def test_experts_by_the_number_of_a_token(norm_type):
    x, ids, table = torch.randn(5, 8), torch.tensor([3, 0, 3, 1, 2]), torch.stack([torch.randperm(8)[:3] for _ in range(4)]).int()
    y, experts, out = on_npu(
        torch_npu.npu_moe_gating_top_k, x, 3, input_ids=ids, tid2eid=table, norm_type=norm_type, out_flag=True, routed_scaling_factor=1.5
    )
    scores = x.double().sigmoid() if norm_type else x.double().softmax(-1)
    chosen = scores.gather(-1, table[ids].long())
    assert experts.cpu().equal(table[ids])
    close(out, scores)
    close(y, 1.5 * (chosen / chosen.sum(-1, True) if norm_type else chosen))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("norm_type", [0, 1])
def test_gradient_of_gating(norm_type, dtype):
    """Torch's own derivative of the definition, whose choice of experts is constant."""
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


@pytest.mark.parametrize("norm_type", [0, 1])
@pytest.mark.parametrize("mode", [0, 1])
def test_gating_top_k_of_the_best_groups(mode, norm_type):
    x, bias = torch.randn(6, 8), torch.randn(8) / 10
    y, experts, out = on_npu(
        torch_npu.npu_moe_gating_top_k, x, 3, bias=bias, k_group=2, group_count=4, group_select_mode=mode, norm_type=norm_type,
        out_flag=True, routed_scaling_factor=2.5, eps=1e-6,
    )  # fmt: skip
    scores = x.double().sigmoid() if norm_type else x.double().softmax(-1)
    close(out, scores)
    for row, numbers, have in zip(scores, experts.cpu(), y.cpu(), strict=True):
        biased = row + bias.double()
        value = {g: sum(sorted(biased[2 * g : 2 * g + 2].tolist())[-(mode + 1) :]) for g in range(4)}
        groups = sorted(value, key=value.get)[-2:]
        best = sorted((e for e in range(8) if e // 2 in groups), key=lambda e: -biased[e])[:3]
        assert numbers.tolist() == best
        chosen = row[best]
        close(have, 2.5 * (chosen / (chosen.sum() + 1e-6) if norm_type else chosen))
