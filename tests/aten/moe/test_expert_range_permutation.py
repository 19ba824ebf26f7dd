"""expert_range_permutation.cpp against definitions in float64."""

import pytest
import torch
from checks import check, close, drawn, there
from definitions import choices, rows_by_expert

from direct import call


@pytest.mark.parametrize("rows", [None, (2, 7)])
def test_permutation_of_a_range(rows):
    tokens, experts, probs = torch.randn(5, 4), choices(5, 2, 6), torch.rand(5, 2)
    order = rows_by_expert(experts)
    first, end = rows or (0, 10)
    permuted, places, weights = there(torch.zeros(end - first, 4), torch.zeros(10).int(), torch.zeros(end - first))
    call("aclnnMoeTokenPermuteWithEp", tokens, experts, probs, rows and list(rows), 0, False, permuted, places, weights)
    own = order[first:end]
    assert permuted.cpu().equal(tokens[[copy // 2 for copy in own]]) and weights.cpu().equal(probs.flatten()[own])
    assert places.cpu().tolist() == [order.index(copy) for copy in range(10)]
    grad, grad_weights = torch.randn(end - first, 4), torch.rand(end - first)
    grad_tokens, grad_probs = there(torch.zeros(5, 4), torch.zeros(5, 2))
    call("aclnnMoeTokenPermuteWithEpGrad", grad, places, grad_weights, 2, rows and list(rows), False, grad_tokens, grad_probs)
    copies = torch.tensor(own)
    close(grad_tokens, torch.zeros(5, 4).index_add(0, copies // 2, grad))
    close(grad_probs.flatten(), torch.zeros(10).index_copy(0, copies, grad_weights))


@pytest.mark.parametrize("weighted", [True, False])
def test_copies_of_a_range_back_to_tokens(weighted):
    tokens, copies, first, end = 4, 2, 1, 6
    order = torch.randperm(tokens * copies, generator=torch.Generator().manual_seed(4))
    rows, probs = drawn(end - first, 5), drawn(tokens, copies)
    expected = torch.zeros(tokens, 5, dtype=torch.float64)
    for i, place in enumerate(order.tolist()):
        if first <= place < end:
            expected[i // copies] += rows[place - first] * (probs.flatten()[i] if weighted else 1)
    arguments = (rows.float(), order.int(), probs.float() if weighted else None, copies, [first, end], False, None)
    check("aclnnMoeTokenUnpermuteWithEp", arguments, expected)
