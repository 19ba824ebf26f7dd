"""What routes tokens on one rank, against definitions one token after the other and torch's own derivatives."""

import pytest
import torch
import torch_npu
from arguments import COMMUNICATOR
from test_mixture_of_experts import choices

from cases import DEVICE, FLOATS, close, there
from direct import call, refusal
from support.marks import with_routing_v3


@pytest.mark.parametrize("scatter", [0, 1])
def test_re_routing(scatter):
    counts = torch.tensor([[2, 0, 1], [1, 3, 0]], dtype=torch.int32)
    tokens, scales = torch.randn(7, 4).half(), torch.rand(7)
    experts = [e for row in counts.tolist() for e, number in enumerate(row) for _ in range(number)]
    order = sorted(range(7), key=lambda row: (experts[row], row))
    places = [order.index(row) for row in range(7)] if scatter else order
    got, got_scales, index, numbers = torch_npu.npu_moe_re_routing(
        *there(tokens, counts), per_token_scales=scales.to(DEVICE), expert_token_num_type=1 - scatter, idx_type=scatter
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
    got, mask = torch_npu.npu_moe_update_expert(
        *there(experts, table), expert_scales=scales.to(DEVICE), pruning_threshold=threshold.to(DEVICE), active_mask=active.to(DEVICE),
        local_rank_id=rank, world_size=3, balance_mode=mode,
    )  # fmt: skip
    for i, row in enumerate(experts.tolist()):
        for j, expert in enumerate(row):
            count, *where = table[expert].tolist()
            assert got[i, j].item() == where[i % count if mode else rank // -(-3 // count)]
            assert mask[i, j].item() == bool(active[i] and scales[i].sum() * threshold[j] < scales[i, j])


@pytest.mark.parametrize("norm_type", [0, 1])
def test_experts_by_the_number_of_a_token(norm_type):
    x, ids, table = torch.randn(5, 8), torch.tensor([3, 0, 3, 1, 2]), torch.stack([torch.randperm(8)[:3] for _ in range(4)]).int()
    y, experts, out = torch_npu.npu_moe_gating_top_k(
        x.to(DEVICE), 3, input_ids=ids.to(DEVICE), tid2eid=table.to(DEVICE), norm_type=norm_type, out_flag=True, routed_scaling_factor=1.5
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
    got = torch_npu.npu_moe_gating_top_k_backward(
        scores.detach().float().to(DEVICE), *there(grad, experts), norm_type=norm_type, routed_scaling_factor=2.5, eps=1e-3
    )
    assert got.dtype == dtype
    close(got, want)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@with_routing_v3
def test_init_routing_quantises(dynamic, padded):
    x, experts = torch.randn(5, 4), choices(5, 2, 4).int()
    scale = torch.rand(4, 4) + 0.5 if dynamic else torch.tensor([20.0])
    offset = None if dynamic else torch.tensor([3.0], device=DEVICE)
    expanded, rows, counts, before, scales = torch_npu.npu_moe_init_routing_quant(
        *there(x, experts), scale=scale.to(DEVICE), offset=offset, active_num=0, expert_capacity=2, expert_num=4, drop_pad_mode=int(padded),
        expert_tokens_num_mode=2, expert_tokens_before_capacity_flag=True, quant_mode=int(dynamic),
    )  # fmt: skip
    flat, seen = experts.flatten().tolist(), [0] * 4
    order = sorted(range(10), key=lambda copy: (flat[copy], copy))
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
    call("aclnnMoeInitRoutingQuant", *there(x, row_idx, experts), 3, 20.0, -1.0, expanded, rows, sorted_experts)
    flat = experts.flatten().tolist()
    order = sorted(range(6), key=lambda copy: (flat[copy], copy))
    assert sorted_experts.cpu().tolist() == sorted(flat)
    assert [rows.cpu().tolist()[(copy % 2) * 3 + copy // 2] for copy in order] == list(range(6))
    assert (expanded.cpu().double() - (20 * x[[copy // 2 for copy in order]].double() - 1)).abs().max() <= 0.5


@pytest.mark.parametrize("capacity", [0, 2])
def test_gradients_of_routing_and_of_sums(capacity):
    """Of definitions with an index for each copy, by torch's own derivatives; -1 is a copy that was dropped."""
    tokens, k, experts = 4, 2, choices(4, 2, 3)
    flat, seen, rows = experts.flatten().tolist(), [0] * 3, [-1] * 8
    for place, copy in enumerate(sorted(range(8), key=lambda copy: (flat[copy], copy))):
        within, seen[flat[copy]] = seen[flat[copy]], seen[flat[copy]] + 1
        rows[copy] = place if not capacity else 2 * flat[copy] + within if within < capacity else -1
    index, count = torch.tensor(rows), 6 if capacity else 8
    kept = (index >= 0).double().unsqueeze(1)
    expanded, scales, bias, grad = (torch.randn(*s, dtype=torch.float64) for s in ((count, 5), (tokens, k), (3, 5), (tokens, 5)))
    leaves = [expanded.requires_grad_(), scales.requires_grad_()]
    values = expanded[index.clamp_min(0)] * kept + bias[experts.flatten()]
    out = (values * scales.reshape(-1, 1)).view(tokens, k, 5).sum(1)
    want = torch.autograd.grad(out, leaves, grad)
    shape = (3, capacity, 5) if capacity else (8, 5)
    grad_rows, grad_scales = torch.full(shape, 9.0, device=DEVICE), torch.zeros(tokens, k, device=DEVICE)
    arguments = [grad.float(), index.int(), expanded.detach().float().view(shape), scales.detach().float(), experts.int(), bias.float()]
    call("aclnnMoeFinalizeRoutingV2Grad", *there(*arguments), int(bool(capacity)), 0, 3, capacity, grad_rows, grad_scales)
    close(grad_rows.view(-1, 5), want[0])
    close(grad_scales, want[1])

    x = torch.randn(tokens, 5, dtype=torch.float64, requires_grad=True)
    places = index[index >= 0]
    routed = torch.zeros(count, 5, dtype=torch.float64).index_put((places,), x.repeat_interleave(k, 0)[index >= 0])
    cotangent, got = torch.randn(count, 5, dtype=torch.float64), torch.zeros(tokens, 5, device=DEVICE)
    (want_x,) = torch.autograd.grad(routed, x, cotangent)
    call("aclnnMoeInitRoutingV2Grad", *there(cotangent.float().view(shape), index.int()), k, int(bool(capacity)), 0, got)
    close(got, want_x)


def test_sums_of_rows_as_a_c_program_calls_them():
    rows, places, out = torch.randn(6, 4), torch.tensor([4, 0, 1, 5, 2, 3], dtype=torch.int32), torch.zeros(3, 4, device=DEVICE)
    nothing, here = (None,) * 4, there(rows, places)
    call("aclnnMoeFinalizeRoutingV4", *here, *(None,) * 5, *nothing, 2, None, None, None, 2, out)
    assert out.cpu().equal(rows[places.long()].view(3, 2, 4).sum(1))
    code, message = refusal("aclnnMoeFinalizeRoutingV4", *here, *(None,) * 5, *nothing, 2, [4, 6], None, None, 2, out)
    assert code == 161002 and "zeroExpertRange: expected null: the engine has no such experts here, got [4, 6]" in message
    code, message = refusal("aclnnMoeFinalizeRoutingV4", *here, *(None,) * 5, *nothing, 2, None, None, None, 3, out)
    assert code == 161002 and "k: expected 2, as expandedRowIdx and out say, got 3" in message


@pytest.mark.parametrize("rows", [None, (2, 7)])
def test_permutation_of_a_range(rows):
    tokens, experts, probs = torch.randn(5, 4), choices(5, 2, 6), torch.rand(5, 2)
    flat = experts.flatten().tolist()
    order = sorted(range(10), key=lambda copy: (flat[copy], copy))
    first, end = rows or (0, 10)
    permuted, places, weights = there(torch.zeros(end - first, 4), torch.zeros(10).int(), torch.zeros(end - first))
    call("aclnnMoeTokenPermuteWithEp", *there(tokens, experts, probs), rows and list(rows), 0, False, permuted, places, weights)
    own = order[first:end]
    assert permuted.cpu().equal(tokens[[copy // 2 for copy in own]]) and weights.cpu().equal(probs.flatten()[own])
    assert places.cpu().tolist() == [order.index(copy) for copy in range(10)]
    grad, grad_weights = torch.randn(end - first, 4), torch.rand(end - first)
    grad_tokens, grad_probs = there(torch.zeros(5, 4), torch.zeros(5, 2))
    call(
        "aclnnMoeTokenPermuteWithEpGrad", grad.to(DEVICE), places, grad_weights.to(DEVICE), 2, rows and list(rows), False, grad_tokens,
        grad_probs,
    )  # fmt: skip
    want, want_probs = torch.zeros(5, 4), torch.zeros(10)
    for place, copy in enumerate(own):
        want[copy // 2] += grad[place]
        want_probs[copy] = grad_weights[place]
    close(grad_tokens, want)
    close(grad_probs.flatten(), want_probs)


@pytest.mark.parametrize("quantised", [False, True])
def test_dispatch_and_combine_in_two_parts(quantised):
    """On one rank, whose experts double, triple and so on what they are given."""
    x, experts, scales = torch.randn(5, 8).half(), choices(5, 2, 3).int(), torch.rand(5, 2)
    mask = torch.rand(5, 2) < 0.7
    group = (COMMUNICATOR, 1, 0, 3, 0, 1, 0)
    bytes_of_row = torch.int8 if quantised else torch.float16
    packed = torch.zeros(15, 512 if quantised else 256, dtype=bytes_of_row, device=DEVICE)
    index, info = torch.zeros(10, device=DEVICE).int(), torch.zeros((15 + 3) * 16, device=DEVICE).int()
    here = there(x, experts, mask)
    call("aclnnMoeDistributeDispatchSetup", *here[:2], None, here[2], *group, 2 * quantised, 0, 0, b"", packed, index, info)
    rows, row_scales = torch.zeros(10, 8, dtype=bytes_of_row, device=DEVICE), torch.zeros(10, device=DEVICE)
    assist, numbers = torch.zeros(10 * 128, device=DEVICE).int(), torch.zeros(3, device=DEVICE).long()
    outputs = (rows, row_scales, assist, numbers)
    call("aclnnMoeDistributeDispatchTeardown", here[0], packed, here[1], info, *group, 2 * quantised, 0, 1, 0, b"", *outputs)
    assert numbers.cpu().tolist() == [int(((experts == expert) & mask).sum()) for expert in range(3)]
    factor = torch.repeat_interleave(torch.arange(1, 4), numbers.cpu())
    made = torch.zeros(10, 8, dtype=torch.float16, device=DEVICE)
    given = rows.double() * row_scales.double().unsqueeze(1) if quantised else rows.double()
    made[: len(factor)] = (given[: len(factor)] * factor.to(DEVICE).unsqueeze(1)).half()
    empty, commands = torch.zeros(10, 512, dtype=torch.int8, device=DEVICE), torch.zeros(11 * 16, device=DEVICE).int()
    call("aclnnMoeDistributeCombineSetup", made, here[1], assist, *group, 0, 0, 0, b"", empty, commands)
    out = torch.zeros(5, 8, dtype=torch.float16, device=DEVICE)
    combined = (made, empty, here[1], index, scales.to(DEVICE), commands, here[2], None)
    call("aclnnMoeDistributeCombineTeardown", *combined, *group, 0, 0, 0, b"", out)
    weight = (scales.double() * mask * (experts + 1)).sum(1, keepdim=True)
    torch.testing.assert_close(out.cpu().double(), weight * x.double(), rtol=2e-2 if quantised else 2e-3, atol=3e-2 if quantised else 2e-3)
