"""expert_permutation.cpp and expert_routing.cpp against their definitions, one token after the other."""

import pytest
import torch
import torch_npu

from cases import DEVICE, FLOATS, TOLERANCE, close, there
from direct import call, refusal
from support.marks import with_routing_v3


def choices(tokens, k, experts):
    """Experts of each token, which differ."""
    return torch.stack([torch.randperm(experts)[:k] for _ in range(tokens)])


def rows_by_expert(experts):
    """The copies of tokens, i * k + j, in the order of their experts."""
    flat = experts.flatten().tolist()
    return sorted(range(len(flat)), key=lambda copy: (flat[copy], copy))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("kept", [None, 9])
@pytest.mark.parametrize("k", [1, 3])
def test_permute_and_unpermute(k, kept, dtype):
    """Forward and backward; copies behind the last that is kept count for nothing."""
    tokens, experts, probs = torch.randn(5, 4).to(dtype), choices(5, k, 6), torch.rand(5, k).to(dtype)
    order = rows_by_expert(experts)[:kept]
    leaves = [t.requires_grad_() for t in there(tokens, probs)]
    permuted, places = torch_npu.npu_moe_token_permute(leaves[0], experts.to(DEVICE), kept)
    close(permuted.detach(), tokens[[copy // k for copy in order]])
    assert [places.cpu().tolist()[copy] for copy in order] == list(range(len(order)))

    scaled = permuted * 2
    scaled.retain_grad()
    merged = torch_npu.npu_moe_token_unpermute(scaled, places, leaves[1])
    here = [t.double().requires_grad_() for t in (tokens, probs)]
    factor = here[1].flatten() * torch.tensor([copy in order for copy in range(5 * k)])
    expected = 2 * here[0] * factor.view(5, k).sum(1, True)
    close(merged.detach(), expected.detach())
    cotangent = torch.randn(5, 4).to(dtype)
    grads = torch.autograd.grad(merged, leaves, cotangent.to(DEVICE))
    close(grads, torch.autograd.grad(expected, here, cotangent.double()), 4 * TOLERANCE[dtype])


def test_unpermute_without_probabilities():
    tokens, experts = torch.randn(6, 4), torch.tensor([2, 0, 1, 0, 2, 1])
    leaf = tokens.to(DEVICE).requires_grad_()
    permuted, places = torch_npu.npu_moe_token_permute(leaf, experts.to(DEVICE))
    assert permuted.detach().cpu().equal(tokens[[1, 3, 2, 5, 0, 4]])
    back = torch_npu.npu_moe_token_unpermute(permuted, places)
    assert back.detach().cpu().equal(tokens)
    back.backward(tokens.to(DEVICE))
    assert leaf.grad.cpu().equal(tokens)


def test_gradient_of_unpermute_without_tokens():
    """As torch_npu calls it for CANN 9.1, unless there are probabilities."""
    grad, places = torch.randn(3, 4), torch.tensor([2, 0, 1], dtype=torch.int32)
    grads, _ = torch.ops.npu.npu_moe_token_unpermute_grad_v2(*there(grad, places), 3, grad.dtype)
    assert grads.cpu().equal(grad[[1, 2, 0]])
    probs = torch.rand(3, 1).to(DEVICE)
    code, message = refusal("aclnnMoeTokenUnpermuteGrad", None, *there(grad, places), probs, False, [3, 4], grads, probs)
    assert code == 161001 and "permutedTokens: expected a tensor, for the gradient of probs, got null" in message


def by_map(tokens, routing, probs):
    """Rows expert by expert, for the tokens that it has: their numbers, and probabilities."""
    chosen = [(int(token), expert) for expert in range(routing.shape[1]) for token in routing[:, expert].nonzero().flatten()]
    return [token for token, _ in chosen], torch.stack([probs[pair] for pair in chosen])


@pytest.mark.parametrize("padded", [False, True])
def test_routing_map(padded):
    """Forward and backward of both directions; with padding each expert has two tokens."""
    tokens, probs = torch.randn(4, 3), torch.rand(4, 4)
    routing = torch.tensor([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]], dtype=torch.bool)
    numbers, weights = by_map(tokens, routing, probs)
    leaves = [t.requires_grad_() for t in there(tokens, probs)]
    permuted, chosen, places = torch_npu.npu_moe_token_permute_with_routing_map(
        leaves[0], routing.to(DEVICE), probs=leaves[1], num_out_tokens=8, drop_and_pad=padded
    )
    assert permuted.detach().cpu().equal(tokens[numbers])
    close(chosen.detach(), weights)
    here = [t.double().requires_grad_() for t in (tokens, probs)]
    merged = torch_npu.npu_moe_token_unpermute_with_routing_map(
        permuted * chosen.unsqueeze(1), places, [4, 3], probs=leaves[1], routing_map=routing.to(DEVICE), drop_and_pad=padded
    )
    expected = here[0] * (here[1].square() * routing).sum(1, True)
    close(merged.detach(), expected.detach())
    cotangent = torch.randn(4, 3)
    grads = torch.autograd.grad(merged, leaves, cotangent.to(DEVICE))
    close(grads, torch.autograd.grad(expected, here, cotangent.double()))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gating_top_k_softmax(dtype):
    x, finished = torch.randn(5, 8).to(dtype), torch.tensor([False, True, False, False, True])
    y, experts, rows = torch_npu.npu_moe_gating_top_k_softmax(x.to(DEVICE), finished.to(DEVICE), 3)
    values, indices = x.double().softmax(-1).sort(dim=-1, descending=True, stable=True)
    close(y, values[:, :3])
    assert experts.cpu().equal(torch.where(finished.unsqueeze(1), 8, indices[:, :3]).int())
    assert rows.cpu().tolist() == [[j * 5 + i for j in range(3)] for i in range(5)]


@pytest.mark.parametrize("renorm", [0, 1])
def test_gating_top_k_softmax_v2(renorm):
    x = torch.randn(2, 3, 8)
    y, experts, softmax = torch_npu.npu_moe_gating_top_k_softmax_v2(x.to(DEVICE), k=3, renorm=renorm, output_softmax=True)
    values, indices = x.double().sort(-1, descending=True)
    assert experts.cpu().equal(indices[..., :3].int())
    close(y, values[..., :3].softmax(-1) if renorm else x.double().softmax(-1).gather(-1, indices[..., :3]))
    if not renorm:
        close(softmax, x.double().softmax(-1))


@pytest.mark.parametrize("norm_type", [0, 1])
@pytest.mark.parametrize("mode", [0, 1])
def test_gating_top_k_of_the_best_groups(mode, norm_type):
    x, bias = torch.randn(6, 8), torch.randn(8) / 10
    y, experts, out = torch_npu.npu_moe_gating_top_k(
        x.to(DEVICE), 3, bias=bias.to(DEVICE), k_group=2, group_count=4, group_select_mode=mode, norm_type=norm_type, out_flag=True,
        routed_scaling_factor=2.5, eps=1e-6,
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


def test_init_routing_and_finalize():
    """Through the experts and back: the sum of each token's rows, with biases, scales and what skips the experts."""
    tokens, k, count = 5, 2, 4
    x, experts = torch.randn(tokens, 3), choices(tokens, k, count).int()
    row_idx = torch.arange(tokens * k, dtype=torch.int32).view(k, tokens).T.contiguous()
    expanded, rows, sorted_experts = torch_npu.npu_moe_init_routing(*there(x, row_idx, experts), tokens)
    flat = experts.flatten().tolist()
    order = sorted(range(tokens * k), key=lambda copy: (flat[copy], copy))
    copies = [(copy % k) * tokens + copy // k for copy in order]  # copy j of token i has the number j * tokens + i
    assert sorted_experts.cpu().tolist() == sorted(flat)
    assert expanded.cpu().equal(x[[copy // k for copy in order]])
    assert [rows.cpu().tolist()[copy] for copy in copies] == list(range(tokens * k))

    skip1, skip2, bias, scales = torch.randn(tokens, 3), torch.randn(tokens, 3), torch.randn(count, 3), torch.rand(tokens, k)
    out = torch_npu.npu_moe_finalize_routing(expanded, *there(skip1, skip2, bias, scales), rows, experts.to(DEVICE))
    expected = (skip1 + skip2).double()
    for i in range(tokens):
        for j in range(k):
            expected[i] += scales[i, j].double() * (x[i].double() + bias[experts[i, j]].double())
    close(out, expected)


@pytest.mark.parametrize("count_type", [0, 1, 2])
@pytest.mark.parametrize("row_type", [0, 1])
@with_routing_v3
def test_init_routing_v2_of_some_experts(row_type, count_type):
    x, experts, first, end = torch.randn(6, 4), choices(6, 3, 8).int(), 2, 6
    expanded, rows, counts, _ = torch_npu.npu_moe_init_routing_v2(
        *there(x, experts), active_num=18, expert_capacity=0, expert_num=8, drop_pad_mode=0, expert_tokens_num_type=count_type,
        expert_tokens_num_flag=True, active_expert_range=[first, end], quant_mode=-1, row_idx_type=row_type,
    )  # fmt: skip
    flat = experts.flatten().tolist()
    order = sorted((c for c in range(18) if first <= flat[c] < end), key=lambda c: (flat[c], c))
    assert expanded[: len(order)].cpu().equal(x[[copy // 3 for copy in order]])
    if row_type:  # of all copies: the experts behind the range follow in their order, those before it come last
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
    expanded, rows, counts, _ = torch_npu.npu_moe_init_routing_v2(
        *there(x, experts), active_num=8, expert_capacity=2, expert_num=4, drop_pad_mode=1, expert_tokens_num_type=1,
        expert_tokens_num_flag=True, active_expert_range=[0, 4], quant_mode=-1, row_idx_type=0,
    )  # fmt: skip
    zero = torch.zeros(3)
    expected = torch.stack([x[0], x[1], x[0], x[2], x[1], x[3], zero, zero]).view(4, 2, 3)
    assert expanded.cpu().equal(expected)
    assert rows.cpu().tolist() == [0, 2, 1, 4, -1, 3, 5, -1]
    assert counts.cpu().tolist() == [4, 2, 2, 0]


@pytest.mark.parametrize("smooth", [False, True])
@with_routing_v3
def test_init_routing_v2_quantises(smooth):
    x, experts, scale = torch.randn(4, 8), choices(4, 2, 4).int(), torch.rand(4, 8) + 0.5
    expanded, _, _, scales = torch_npu.npu_moe_init_routing_v2(
        *there(x, experts), scale=scale.to(DEVICE) if smooth else None, active_num=8, expert_capacity=0, expert_num=4, drop_pad_mode=0,
        expert_tokens_num_type=1, expert_tokens_num_flag=True, active_expert_range=[0, 4], quant_mode=1, row_idx_type=0,
    )  # fmt: skip
    order = rows_by_expert(experts)
    exact = x[[copy // 2 for copy in order]].double()
    if smooth:
        exact = exact * scale[[experts.flatten()[copy].item() for copy in order]].double()
    largest = exact.abs().amax(-1)
    torch.testing.assert_close(scales.cpu().double(), largest / 127, rtol=1e-6, atol=0)
    assert ((expanded.cpu().double() - exact * 127 / largest.unsqueeze(1)).abs() <= 0.5 + 1e-6).all()


@pytest.mark.parametrize("flag", [1, 2])
def test_init_routing_v2_as_a_c_program_calls_it(flag):
    x, experts = torch.randn(5, 3), choices(5, 2, 4).int()
    expanded, rows, counts = torch.zeros(10, 3, device=DEVICE), *there(torch.zeros(10).int(), torch.zeros(4).int())
    call("aclnnMoeInitRoutingV2", *there(x, experts), 10, 0, 4, 0, flag, False, expanded, rows, counts, None)
    order, flat = rows_by_expert(experts), experts.flatten().tolist()
    assert expanded.cpu().equal(x[[copy // 2 for copy in order]])
    assert [rows.cpu().tolist()[copy] for copy in order] == list(range(10))
    number = torch.tensor([flat.count(e) for e in range(4)])
    assert counts.cpu().tolist() == (number.cumsum(0) if flag == 1 else number).tolist()


def test_compute_expert_tokens():
    experts = torch.tensor([0, 0, 2, 2, 2, 5], dtype=torch.int32)
    assert torch_npu.npu_moe_compute_expert_tokens(experts.to(DEVICE), 5).cpu().tolist() == [2, 2, 5, 5, 5]
