"""expert_finalize.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, check, close, on_npu
from definitions import choices, rows_by_expert

from direct import call


@pytest.mark.parametrize("capacity", [0, 2])
def test_gradients_of_routing_and_of_sums(capacity):
    """The definitions have an index for each copy, and torch's own derivatives; -1 is a copy that was dropped."""
    tokens, k, experts = 4, 2, choices(4, 2, 3)
    flat, seen, rows = experts.flatten().tolist(), [0] * 3, [-1] * 8
    for place, copy in enumerate(rows_by_expert(experts)):
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
    call("aclnnMoeFinalizeRoutingV2Grad", *arguments, int(bool(capacity)), 0, 3, capacity, grad_rows, grad_scales)
    close(grad_rows.view(-1, 5), want[0])
    close(grad_scales, want[1])

    x = torch.randn(tokens, 5, dtype=torch.float64, requires_grad=True)
    places = index[index >= 0]
    routed = torch.zeros(count, 5, dtype=torch.float64).index_put((places,), x.repeat_interleave(k, 0)[index >= 0])
    cotangent, got = torch.randn(count, 5, dtype=torch.float64), torch.zeros(tokens, 5, device=DEVICE)
    (want_x,) = torch.autograd.grad(routed, x, cotangent)
    call("aclnnMoeInitRoutingV2Grad", cotangent.float().view(shape), index.int(), k, int(bool(capacity)), 0, got)
    close(got, want_x)


def test_sums_of_rows_as_a_c_program_calls_them():
    rows, places = torch.randn(6, 4), torch.tensor([4, 0, 1, 5, 2, 3], dtype=torch.int32)
    exact = rows.double()[places.long()].view(3, 2, 4).sum(1)
    check("aclnnMoeFinalizeRoutingV4", (rows, places, *[None] * 9, 2, None, None, None, 2), exact)


def test_init_routing_and_finalize():
    tokens, k, count = 5, 2, 4
    x, experts = torch.randn(tokens, 3), choices(tokens, k, count).int()
    row_idx = torch.arange(tokens * k, dtype=torch.int32).view(k, tokens).T.contiguous()
    expanded, rows, sorted_experts = on_npu(torch_npu.npu_moe_init_routing, x, row_idx, experts, tokens)
    flat, order = experts.flatten().tolist(), rows_by_expert(experts)
    copies = [(copy % k) * tokens + copy // k for copy in order]  # copy j of token i has the number j * tokens + i
    assert sorted_experts.cpu().tolist() == sorted(flat)
    assert expanded.cpu().equal(x[[copy // k for copy in order]])
    assert [rows.cpu().tolist()[copy] for copy in copies] == list(range(tokens * k))

    skip1, skip2, bias, scales = torch.randn(tokens, 3), torch.randn(tokens, 3), torch.randn(count, 3), torch.rand(tokens, k)
    out = on_npu(torch_npu.npu_moe_finalize_routing, expanded, skip1, skip2, bias, scales, rows, experts)
    given = x.double().unsqueeze(1) + bias.double()[experts.long()]
    close(out, skip1.double() + skip2.double() + (scales.double().unsqueeze(2) * given).sum(1))
