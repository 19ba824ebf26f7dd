"""native_sparse_attention.cpp against definitions in float64."""

import re

import pytest
import torch
import torch_npu
from checks import DEVICE, close, on_npu, there
from definitions import attention_of_rows as attention
from definitions import exponentials, halves
from sequences import SIZE, STRIDE, allowed_by, check_places, importance, split

ENDS = [7, 9, 20]  # the ends of three sequences; the second is shorter than a block


def compressed(x, weight):
    """Each block of each sequence, weighted by position and head."""
    blocks = []
    for sequence in split(x, ENDS):
        for start in range(0, len(sequence) - SIZE + 1, STRIDE):
            blocks.append((sequence[start : start + SIZE] * weight.unsqueeze(2)).sum(0))
    return torch.stack(blocks)


def test_compression():
    x, weight = halves(20, 2, 8), halves(SIZE, 2)
    leaves = [t.double().requires_grad_() for t in (x, weight)]
    expected = compressed(*leaves)
    close(torch_npu.npu_nsa_compress(*there(x, weight), SIZE, STRIDE, actual_seq_len=ENDS), expected)
    grad = halves(*expected.shape)
    got = on_npu(torch_npu.npu_nsa_compress_grad, grad, x, weight, SIZE, STRIDE, actual_seq_len=ENDS)
    close(got, torch.autograd.grad(expected, leaves, grad.double()), 2e-2)


def test_attention_to_compressed_keys():
    q, k, v = halves(5, 4, 8), halves(13, 2, 8), halves(13, 2, 6)
    q_ends, k_ends, block_ends = [3, 5], [7, 13], [4, 7]
    mask, topk_mask = torch.ones(3, 7, dtype=torch.bool).triu(4), torch.eye(3, 4, dtype=torch.bool)
    options = {"actual_seq_qlen": q_ends, "actual_cmp_seq_kvlen": k_ends, "actual_sel_seq_kvlen": block_ends}
    out, places, maximum, total = on_npu(
        torch_npu.npu_nsa_compress_attention, q, k, v, 0.3, 4, SIZE, STRIDE, 4, 2, topk_mask=topk_mask, atten_mask=mask, **options
    )
    for i, (qi, ki, vi) in enumerate(zip(split(q, q_ends), split(k, k_ends), split(v, k_ends), strict=True)):
        blocks = (4, 3)[i]
        result, weights, scores = attention(qi.double(), ki.double(), vi.double(), ~mask[: len(qi), : len(ki)], 0.3)
        close(split(out, q_ends)[i], result)
        statistics = split(maximum, q_ends)[i][..., 0], split(total, q_ends)[i][..., 7]
        close((statistic.t() for statistic in statistics), exponentials(scores))
        sums = importance(weights, blocks, 2, 4).masked_fill(topk_mask[: len(qi), :blocks], 1e9)
        check_places(split(places, q_ends)[i], sums)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_to_selected_blocks(masked):
    """A mask says that a token sees those before it only."""
    q, k, v, grad = halves(5, 4, 8), halves(14, 2, 8), halves(14, 2, 6), halves(5, 4, 6)
    q_ends, k_ends, block = [3, 5], [8, 14], 2
    places = torch.stack([torch.stack([torch.randperm(3)[:2] for _ in range(2)]) for _ in range(5)]).int()
    places[..., 0] = 0
    options = {"actual_seq_qlen": q_ends, "actual_seq_kvlen": k_ends}
    options["atten_mask"] = torch.ones(2048, 2048, dtype=torch.bool, device=DEVICE).triu(1) if masked else None
    on_device = there(q, k, v, places)
    out, maximum, total = torch_npu.npu_nsa_select_attention(*on_device, 0.3, 4, block, 2, **options)
    leaves = [t.double().requires_grad_() for t in (q, k, v)]
    results, largest = [], []
    pieces = zip(split(leaves[0], q_ends), split(leaves[1], k_ends), split(leaves[2], k_ends), split(places, q_ends), strict=True)
    for qi, ki, vi, chosen in pieces:
        allowed = allowed_by(chosen, block, len(ki)).repeat_interleave(2, 0)
        allowed = allowed & torch.ones(len(qi), len(ki), dtype=torch.bool).tril() if masked else allowed
        result, _, scores = attention(qi, ki, vi, allowed, 0.3)
        results.append(result)
        largest.append(scores.amax(2).t())
    expected = torch.cat(results)
    close(out, expected)
    close(maximum[..., 0], torch.cat(largest))
    got = on_npu(
        torch_npu.npu_nsa_select_attention_grad, grad, *on_device[:3], out, maximum, total, on_device[3], 0.3, 4, block, 2, **options
    )
    close(got, torch.autograd.grad(expected, leaves, grad.double()))


@pytest.mark.parametrize(("changes", "message"), [
    ({"select_block_size": 2**62}, "selectBlockSize: expected at most 4096, got 4611686018427387904"),
    ({"select_block_size": 3}, "selectBlockSize: expected a multiple of 2 that is at least 4, got 3"),
    ({"compress_stride": 8}, "compressStride: expected at most compressBlockSize, 4, got 8"),
    ({"actual_sel_seq_kvlen": [4]}, "actualSelSeqKvLen: expected 3 blocks more for the 6 compressed ones of sequence 0, got 4"),
])  # fmt: skip
def test_blocks_that_do_not_fit_are_refused(changes, message):
    sizes = {"scale_value": 1.0, "head_num": 2, "compress_block_size": 4, "compress_stride": 2, "select_block_size": 4}
    ends = {"actual_seq_qlen": [3], "actual_cmp_seq_kvlen": [6], "actual_sel_seq_kvlen": [3]}
    tensors = there(halves(3, 2, 8), halves(6, 2, 8), halves(6, 2, 8))
    with pytest.raises(RuntimeError, match=re.escape(message)):
        torch_npu.npu_nsa_compress_attention(*tensors, **sizes | {"select_block_count": 1} | ends | changes)
