"""expert_routing.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, on_npu, there
from definitions import choices, rows_by_expert
from few_bits import assert_nearest, assert_nearest_rows

from direct import call
from support.marks import with_routing_v3


def routed(x, experts, **options):
    usual = {"active_num": experts.numel(), "expert_capacity": 0, "expert_num": 4, "drop_pad_mode": 0, "expert_tokens_num_type": 1}
    usual |= {"expert_tokens_num_flag": True, "active_expert_range": [0, 4], "quant_mode": -1, "row_idx_type": 0}
    return on_npu(torch_npu.npu_moe_init_routing_v2, x, experts, **usual | options)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@with_routing_v3
def test_init_routing_quantises(dynamic, padded):
    x, experts = torch.randn(5, 4), choices(5, 2, 4).int()
    scale = torch.rand(4, 4) + 0.5 if dynamic else torch.tensor([20.0])
    offset = None if dynamic else torch.tensor([3.0], device=DEVICE)
    expanded, rows, counts, before, scales = on_npu(
        torch_npu.npu_moe_init_routing_quant, x, experts, scale=scale, offset=offset, active_num=0, expert_capacity=2, expert_num=4,
        drop_pad_mode=int(padded), expert_tokens_num_mode=2, expert_tokens_before_capacity_flag=True, quant_mode=int(dynamic),
    )  # fmt: skip
    flat, seen = experts.flatten().tolist(), [0] * 4
    order = rows_by_expert(experts)
    expanded, want = expanded.cpu().view(-1, 4), [-1] * 10
    for place, copy in enumerate(order):
        expert, within = flat[copy], seen[flat[copy]]
        seen[expert] += 1
        if padded and within >= 2:
            continue
        want[copy] = 2 * expert + within if padded else place
        exact = x[copy // 2].double() * (scale[expert] if dynamic else scale).double()
        if dynamic:
            torch.testing.assert_close(scales[want[copy]].item(), exact.abs().max().item() / 127, rtol=1e-6, atol=0)
            exact = exact * 127 / exact.abs().max()
        assert ((expanded[want[copy]].double() - exact - (0 if dynamic else 3)).abs() <= 0.5 + 1e-5).all()
    assert rows.cpu().tolist() == want and (before if padded else counts).cpu().tolist() == seen


def test_init_routing_with_one_scale_as_a_c_program_calls_it():
    x, experts = torch.randn(3, 4), choices(3, 2, 4).int()
    row_idx = torch.arange(6, dtype=torch.int32).view(2, 3).T.contiguous()
    expanded, rows, sorted_experts = there(torch.zeros(6, 4, dtype=torch.int8), torch.zeros(6).int(), torch.zeros(6).int())
    call("aclnnMoeInitRoutingQuant", x, row_idx, experts, 3, 20.0, -1.0, expanded, rows, sorted_experts)
    flat, order = experts.flatten().tolist(), rows_by_expert(experts)
    assert sorted_experts.cpu().tolist() == sorted(flat)
    assert [rows.cpu().tolist()[(copy % 2) * 3 + copy // 2] for copy in order] == list(range(6))
    assert_nearest(expanded, 20 * x[[copy // 2 for copy in order]].double() - 1)


@pytest.mark.parametrize("count_type", [0, 1, 2])
@pytest.mark.parametrize("row_type", [0, 1])
@with_routing_v3
def test_init_routing_v2_of_some_experts(row_type, count_type):
    x, experts, first, end = torch.randn(6, 4), choices(6, 3, 8).int(), 2, 6
    expanded, rows, counts, _ = routed(
        x, experts, expert_num=8, expert_tokens_num_type=count_type, active_expert_range=[first, end], row_idx_type=row_type
    )
    flat = experts.flatten().tolist()
    order = sorted((c for c in range(18) if first <= flat[c] < end), key=lambda c: (flat[c], c))
    assert expanded[: len(order)].cpu().equal(x[[copy // 3 for copy in order]])
    if row_type:  # all copies are kept: the experts behind the range follow in order, those before it come last
        behind = sorted((c for c in range(18) if flat[c] >= end), key=lambda c: (flat[c], c))
        assert rows.cpu().tolist() == order + behind + [c for c in range(18) if flat[c] < first]
    else:
        assert rows.cpu().tolist() == [order.index(c) if c in order else -1 for c in range(18)]
    number = [flat.count(e) for e in range(first, end)]
    if count_type == 2:
        pairs = [[first + i, n] for i, n in enumerate(number) if n]
        assert counts.cpu().tolist()[: len(pairs)] == pairs and not counts.cpu()[len(pairs) :].any()
    else:
        assert counts.cpu().tolist() == (number if count_type else torch.tensor(number).cumsum(0).tolist())


@with_routing_v3
def test_init_routing_v2_with_a_capacity():
    x, experts = torch.randn(4, 3), torch.tensor([[0, 1], [0, 2], [0, 1], [2, 0]], dtype=torch.int32)
    expanded, rows, counts, _ = routed(x, experts, expert_capacity=2, drop_pad_mode=1)
    expected = torch.cat((x[[0, 1, 0, 2, 1, 3]], torch.zeros(2, 3)))
    assert expanded.flatten(0, 1).cpu().equal(expected)
    assert rows.cpu().tolist() == [0, 2, 1, 4, -1, 3, 5, -1]
    assert counts.cpu().tolist() == [4, 2, 2, 0]


@pytest.mark.parametrize("smooth", [False, True])
@with_routing_v3
def test_init_routing_v2_quantises(smooth):
    x, experts, scale = torch.randn(4, 8), choices(4, 2, 4).int(), torch.rand(4, 8) + 0.5
    expanded, _, _, scales = routed(x, experts, scale=scale if smooth else None, quant_mode=1)
    order = rows_by_expert(experts)
    factors = scale[experts.flatten()[order]].double() if smooth else 1
    assert_nearest_rows(expanded, scales, x[[copy // 2 for copy in order]].double() * factors)


@pytest.mark.parametrize("flag", [1, 2])
def test_init_routing_v2_as_a_c_program_calls_it(flag):
    x, experts = torch.randn(5, 3), choices(5, 2, 4).int()
    expanded, rows, counts = torch.zeros(10, 3, device=DEVICE), *there(torch.zeros(10).int(), torch.zeros(4).int())
    call("aclnnMoeInitRoutingV2", x, experts, 10, 0, 4, 0, flag, False, expanded, rows, counts, None)
    order, flat = rows_by_expert(experts), experts.flatten().tolist()
    assert expanded.cpu().equal(x[[copy // 2 for copy in order]])
    assert [rows.cpu().tolist()[copy] for copy in order] == list(range(10))
    number = torch.tensor([flat.count(e) for e in range(4)])
    assert counts.cpu().tolist() == (number.cumsum(0) if flag == 1 else number).tolist()


def test_compute_expert_tokens():
    experts = torch.tensor([0, 0, 2, 2, 2, 5], dtype=torch.int32)
    assert torch_npu.npu_moe_compute_expert_tokens(experts.to(DEVICE), 5).cpu().tolist() == [2, 2, 5, 5, 5]
