"""expert_balance.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import on_npu


@pytest.mark.parametrize("scatter", [0, 1])
def test_re_routing(scatter):
    counts = torch.tensor([[2, 0, 1], [1, 3, 0]], dtype=torch.int32)
    tokens, scales = torch.randn(7, 4).half(), torch.rand(7)
    experts = [e for row in counts.tolist() for e, number in enumerate(row) for _ in range(number)]
    order = sorted(range(7), key=lambda row: (experts[row], row))
    places = [order.index(row) for row in range(7)] if scatter else order
    got, got_scales, index, numbers = on_npu(
        torch_npu.npu_moe_re_routing, tokens, counts, per_token_scales=scales, expert_token_num_type=1 - scatter, idx_type=scatter
    )
    assert got.cpu().equal(tokens[order]) and got_scales.cpu().equal(scales[order]) and index.cpu().tolist() == places
    assert numbers.cpu().tolist() == ([3, 6, 7] if scatter else [3, 3, 1])


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("rank", [0, 2])
def test_update_expert(rank, mode):
    experts = torch.tensor([[0, 2], [1, 2], [2, 1], [0, 1]], dtype=torch.int32)
    table = torch.tensor([[1, 3, 0, 0], [2, 1, 4, 0], [3, 0, 2, 5]], dtype=torch.int32)
    scales, threshold = torch.rand(4, 2), torch.tensor([0.3, 0.6])
    active = torch.tensor([True, True, True, False])
    got, mask = on_npu(
        torch_npu.npu_moe_update_expert, experts, table, expert_scales=scales, pruning_threshold=threshold, active_mask=active,
        local_rank_id=rank, world_size=3, balance_mode=mode,
    )  # fmt: skip
    for i, row in enumerate(experts.tolist()):
        for j, expert in enumerate(row):
            count, *where = table[expert].tolist()
            assert got[i, j].item() == where[i % count if mode else rank // -(-3 // count)]
            assert mask[i, j].item() == bool(active[i] and scales[i].sum() * threshold[j] < scales[i, j])
