"""expert_permutation.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, FLOATS, TOLERANCE, close, on_npu, there
from definitions import choices, rows_by_expert

from direct import refuses


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("kept", [None, 9])
@pytest.mark.parametrize("k", [1, 3])
def test_permute_and_unpermute(k, kept, dtype):
    """Forward and backward; copies behind the last that is kept count for nothing."""
    tokens, experts, probs = torch.randn(5, 4).to(dtype), choices(5, k, 6), torch.rand(5, k).to(dtype)
    order = rows_by_expert(experts)[:kept]
    leaves = [t.requires_grad_() for t in there(tokens, probs)]
    permuted, places = on_npu(torch_npu.npu_moe_token_permute, leaves[0], experts, kept)
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
    permuted, places = on_npu(torch_npu.npu_moe_token_permute, leaf, experts)
    assert permuted.detach().cpu().equal(tokens[[1, 3, 2, 5, 0, 4]])
    back = torch_npu.npu_moe_token_unpermute(permuted, places, None, False, [1, 1])  # a shape that only padded mode reads
    assert back.detach().cpu().equal(tokens)
    back.backward(tokens.to(DEVICE))
    assert leaf.grad.cpu().equal(tokens)


def test_gradient_of_unpermute_without_tokens():
    """torch_npu calls it so for CANN 9.1, unless there are probabilities."""
    grad, places = torch.randn(3, 4), torch.tensor([2, 0, 1], dtype=torch.int32)
    grads, _ = on_npu(torch.ops.npu.npu_moe_token_unpermute_grad_v2, grad, places, 3, grad.dtype)
    assert grads.cpu().equal(grad[[1, 2, 0]])
    probs = torch.rand(3, 1).to(DEVICE)
    refuses(
        "permutedTokens: expected a tensor, for the gradient of probs, got null", "aclnnMoeTokenUnpermuteGrad", None, grad, places, probs,
        False, [3, 4], grads, probs, code=161001,
    )  # fmt: skip


@pytest.mark.parametrize("padded", [False, True])
def test_routing_map(padded):
    """With padding each expert has two tokens."""
    tokens, probs = torch.randn(4, 3), torch.rand(4, 4)
    routing = torch.tensor([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]], dtype=torch.bool)
    experts, numbers = routing.T.nonzero(as_tuple=True)
    leaves = [t.requires_grad_() for t in there(tokens, probs)]
    permuted, chosen, places = on_npu(
        torch_npu.npu_moe_token_permute_with_routing_map, leaves[0], routing, probs=leaves[1], num_out_tokens=8, drop_and_pad=padded
    )
    assert permuted.detach().cpu().equal(tokens[numbers])
    close(chosen, probs[numbers, experts])
    here = [t.double().requires_grad_() for t in (tokens, probs)]
    merged = on_npu(
        torch_npu.npu_moe_token_unpermute_with_routing_map, permuted * chosen.unsqueeze(1), places, [4, 3], probs=leaves[1],
        routing_map=routing, drop_and_pad=padded,
    )  # fmt: skip
    expected = here[0] * (here[1].square() * routing).sum(1, True)
    close(merged.detach(), expected.detach())
    cotangent = torch.randn(4, 3)
    grads = torch.autograd.grad(merged, leaves, cotangent.to(DEVICE))
    close(grads, torch.autograd.grad(expected, here, cotangent.double()))


@pytest.mark.parametrize("place", [8, -1])
def test_a_copy_without_a_place_is_named(place):
    tokens, order = torch.randn(8, 4, device=DEVICE), torch.tensor([*range(7), place], dtype=torch.int32, device=DEVICE)
    with pytest.raises(RuntimeError, match=rf"sortedIndices: expected values in \[0, 8\), got {place} at position \[7\]"):
        torch_npu.npu_moe_token_unpermute(tokens, order, torch.rand(4, 2, device=DEVICE))
        torch.npu.synchronize()
