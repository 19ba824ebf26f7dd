"""token_sampling.cpp against definitions in float64."""

import numpy as np
import pytest
import torch
import torch_npu
from checks import DEVICE, FLOATS, on_npu

from direct import call


def softmax(x):
    powers = np.exp(x - x.max())
    return powers / powers.sum()


def candidates(row, k, p, min_p, are_logits, most=1024):
    """The tokens that count, in the order of their likelihoods, and these."""
    use_k = 1 <= k <= min(most, len(row))
    order = np.argsort(-row, kind="stable") if use_k or p < 1 or min_p >= 1 else np.arange(len(row))
    order = order[:k] if use_k else order
    chances = softmax(row[order]) if are_logits else row[order]
    if p < 1:
        kept = chances.cumsum() - chances < p
        kept[0] = True
        order, chances = order[kept], chances[kept]
    if min_p >= 1:
        return order[:1], chances[:1]
    kept = chances >= chances.max() * min_p if min_p > 0 else np.full(len(order), True)
    return order[kept], chances[kept]


CALLS = [([3, 12, 0, 5], [0.5, 0.9, 1.0, 0.0], [0.0, 0.2, 1.0, 0.0]), ([0] * 4, [1.0] * 4, [0.0, 0.5, 0.0, 0.3])]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("given", ["kp", "k", "p", ""])
def test_most_likely_tokens_by_number_and_share(given, dtype):
    logits, p, k = torch.randn(4, 9).to(dtype), torch.tensor([0.3, 0.9, 1.0, 0.0]).to(dtype), torch.tensor([3, 9, 1, 5], dtype=torch.int32)
    got = on_npu(torch_npu.npu_top_k_top_p, logits, p if "p" in given else None, k if "k" in given else None)
    for i, row in enumerate(logits.double().numpy()):
        order = np.argsort(row, kind="stable")
        kept = row[order]
        if "k" in given:
            kept = np.where(kept < kept[len(row) - k[i]], -np.inf, kept)
        if "p" in given:
            dropped = softmax(kept).cumsum() <= 1 - float(p[i]) + 1e-9
            dropped[-1] = False
            kept = np.where(dropped, -np.inf, kept)
        expected = np.empty(len(row))
        expected[order] = kept
        np.testing.assert_array_equal(got[i].double().cpu().numpy(), expected)


@pytest.mark.parametrize("are_logits", [True, False])
@pytest.mark.parametrize("post", ["qSample", "None", "multiNomial"])
@pytest.mark.parametrize(("ks", "ps", "min_ps"), CALLS, ids=["filtered", "plain"])
def test_samples(ks, ps, min_ps, post, are_logits):
    logits = torch.randn(4, 12) if are_logits else torch.rand(4, 12)
    q = torch.empty(4, 12).exponential_() if post == "qSample" else None
    index, selected = on_npu(
        torch_npu.npu_top_k_top_p_sample, logits, torch.tensor(ks, dtype=torch.int32, device=DEVICE), torch.tensor(ps, device=DEVICE), q=q,
        is_need_logits=True, min_ps=torch.tensor(min_ps, device=DEVICE), input_is_logits=are_logits, post_sample=post,
    )  # fmt: skip
    for i, row in enumerate(logits.double().numpy()):
        order, chances = candidates(row, ks[i], ps[i], min_ps[i], are_logits)
        expected = np.full(12, -np.inf if are_logits else 0.0)
        expected[order] = row[order]
        np.testing.assert_array_equal(selected[i].cpu().numpy(), expected)
        if post == "multiNomial":
            assert int(index[i]) in order
        else:
            weights = chances / (q[i, : len(order)].double().numpy() + 1e-8) if post == "qSample" else chances
            assert int(index[i]) == order[weights.argmax()]


def test_the_first_version_without_a_least_share():
    logits = torch.tensor([[0.1, 3.0, 2.0, -1.0]], device=DEVICE)
    k, p = torch.tensor([2], dtype=torch.int32, device=DEVICE), torch.tensor([0.99], device=DEVICE)
    index, selected = torch.empty(1, dtype=torch.int64, device=DEVICE), torch.empty(1, 4, device=DEVICE)
    q = torch.tensor([[10.0, 0.1, 1.0, 1.0]], device=DEVICE)
    call("aclnnTopKTopPSample", logits, k, p, q, 1e-8, True, 32, index, selected)
    assert index.item() == 2  # the second by probability has a hundredth of the first one's weight
    assert selected.tolist() == [[-torch.inf, 3.0, 2.0, -torch.inf]]
