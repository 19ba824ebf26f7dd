"""native_sparse_attention.cpp, block_sparse_attention.cpp and triangle_attention.cpp, in float64, with autograd's gradients."""

import re

import pytest
import torch
import torch_npu

from cases import DEVICE, close, there

ENDS = [7, 9, 20]  # of three sequences, of which the second is shorter than a block
SIZE, STRIDE = 4, 2


def halves(*shape):
    return torch.randn(shape).half()


def split(tensor, ends):
    return tensor.split(torch.tensor(ends).diff(prepend=torch.zeros(1, dtype=torch.int64)).tolist())


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
    got = torch_npu.npu_nsa_compress_grad(*there(grad, x, weight), SIZE, STRIDE, actual_seq_len=ENDS)
    close(got, torch.autograd.grad(expected, leaves, grad.double()), 2e-2)


def test_compression_of_the_last_block_of_pages():
    """The first sequence ends in the middle of a block, the second with one that lies in two pages."""
    pages, weight, cache = halves(6, 4, 2, 8), halves(SIZE, 2), halves(5, 2, 8)
    table, slots = torch.tensor([[5, 1, 2], [0, 3, 4]], dtype=torch.int32), torch.tensor([2, 4], dtype=torch.int32)
    on_device = there(pages, weight, slots, table, cache)
    got = torch_npu.npu_nsa_compress_infer(
        *on_device[:3], SIZE, STRIDE, 4, block_table=on_device[3], actual_seq_len=[7, 6], cache=on_device[4]
    )
    expected = cache.double()
    rows = torch.cat((pages[0], pages[3]))[2:6].double()
    expected[4] = (rows * weight.double().unsqueeze(2)).sum(0)
    close(got, expected)


def attention(q, k, v, allowed, scale):
    """Of {positions, heads, features}, where heads of the query may share one of the keys; and the probabilities."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = (torch.einsum("qhd,khd->hqk", q, k) * scale).masked_fill(~allowed, -torch.inf)
    weights = scores.softmax(2)
    return torch.einsum("hqk,khd->qhd", weights, v), weights, scores


def importance(weights, blocks, heads, selected):
    """What each block of the keys gets of the attention to compressed blocks, key head by key head."""
    shares = weights.unflatten(0, (heads, -1)).sum(1)
    sums = torch.zeros(*shares.shape[:2], blocks).double()
    for block in range(blocks):
        for step in range(selected // STRIDE):
            for part in range(SIZE // STRIDE):
                place = selected // STRIDE * (block + 1) - step - part
                if 0 <= place < shares.shape[2]:
                    sums[:, :, block] += shares[:, :, place]
    return sums


def check_places(places, sums):
    """They name the largest sums; equal ones may be in any order."""
    for heads in range(sums.shape[0]):
        for row in range(sums.shape[1]):
            count = min(places.shape[2], sums.shape[2])
            chosen = places[row, heads].cpu()
            assert (chosen[count:] == -1).all()
            best = sums[heads, row].sort(descending=True).values[:count]
            torch.testing.assert_close(sums[heads, row][chosen[:count].long()], best, rtol=1e-3, atol=1e-3)


def test_attention_to_compressed_keys():
    q, k, v = halves(5, 4, 8), halves(13, 2, 8), halves(13, 2, 6)
    q_ends, k_ends, block_ends = [3, 5], [7, 13], [4, 7]
    mask, topk_mask = torch.ones(3, 7, dtype=torch.bool).triu(4), torch.eye(3, 4, dtype=torch.bool)
    options = {"actual_seq_qlen": q_ends, "actual_cmp_seq_kvlen": k_ends, "actual_sel_seq_kvlen": block_ends}
    out, places, maximum, total = torch_npu.npu_nsa_compress_attention(
        *there(q, k, v), 0.3, 4, SIZE, STRIDE, 4, 2, topk_mask=topk_mask.to(DEVICE), atten_mask=mask.to(DEVICE), **options
    )
    for i, (qi, ki, vi) in enumerate(zip(split(q, q_ends), split(k, k_ends), split(v, k_ends), strict=True)):
        blocks = (4, 3)[i]
        result, weights, scores = attention(qi.double(), ki.double(), vi.double(), ~mask[: len(qi), : len(ki)], 0.3)
        close(split(out, q_ends)[i], result)
        close(split(maximum, q_ends)[i][..., 0].t(), scores.amax(2))
        close(split(total, q_ends)[i][..., 7].t(), (scores - scores.amax(2, keepdim=True)).exp().sum(2))
        sums = importance(weights, blocks, 2, 4).masked_fill(topk_mask[: len(qi), :blocks], 1e9)
        check_places(split(places, q_ends)[i], sums)


def paged(tensor, table, page):
    """{positions, heads, features} in the pages that a row of the table names."""
    pages = torch.full((8, page, tensor.shape[1] * tensor.shape[2]), 9.0).half()
    for place, rows in zip(table, tensor.flatten(1).split(page), strict=False):
        pages[place, : len(rows)] = rows
    return pages


@pytest.mark.parametrize("layout", ["TND", "BSND"])
def test_attention_to_compressed_keys_in_pages(layout):
    q, k, v, table = halves(1, 4, 8), halves(11, 2, 8), halves(11, 2, 6), [6, 2, 5]
    query = (q if layout == "TND" else q.unsqueeze(1)).to(DEVICE)
    out, places = torch_npu.npu_nsa_compress_attention_infer(
        query, *there(paged(k, table, 4), paged(v, table, 4)), 0.3, 4, 2, 4, 5, 4, SIZE, STRIDE, layout=layout,
        block_table=torch.tensor([table], dtype=torch.int32, device=DEVICE), actual_cmp_seq_kvlen=[11],
    )  # fmt: skip
    result, weights, _ = attention(q.double(), k.double(), v.double(), torch.ones(1, 11, dtype=torch.bool), 0.3)
    close(out.reshape(result.shape), result)
    sums = importance(weights, 6, 2, 4)
    sums[..., [0, 4, 5]] = 1e9
    places = places.reshape(1, 2, 5)
    check_places(places, sums)
    assert places[0, :, :3].tolist() == [[0, 4, 5]] * 2


def allowed_by(places, block, columns):
    """Which of {heads, rows, columns} the places {rows, heads, count} name."""
    allowed = torch.zeros(places.shape[1], places.shape[0], columns, dtype=torch.bool)
    for row in range(len(places)):
        for head in range(places.shape[1]):
            for place in places[row, head].tolist():
                allowed[head, row, place * block : (place + 1) * block] = True
    return allowed


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
    got = torch_npu.npu_nsa_select_attention_grad(
        grad.to(DEVICE), *on_device[:3], out, maximum, total, on_device[3], 0.3, 4, block, 2, **options
    )
    close(got, torch.autograd.grad(expected, leaves, grad.double()))


@pytest.mark.parametrize("layout", ["TND", "BSND", "BSH"])
def test_attention_to_selected_blocks_in_pages(layout):
    q, k, v, table = halves(1, 4, 8), halves(11, 2, 8), halves(11, 2, 6), [6, 2, 5]
    places = torch.tensor([[[0, 4, -1], [5, 2, 1]]], dtype=torch.int32)
    queries = {"TND": q, "BSND": q.unsqueeze(1), "BSH": q.flatten(1).unsqueeze(1)}[layout]
    keys, values = (paged(t, table, 4) for t in (k, v))
    if layout == "BSND":
        keys, values = keys.unflatten(2, (2, -1)), values.unflatten(2, (2, -1))
    out = torch_npu.npu_nsa_select_attention_infer(
        *there(queries, keys, values, places if layout == "TND" else places.unsqueeze(1)), 0.3, 4, 2, 2, 3, 4, layout=layout,
        block_table=torch.tensor([table], dtype=torch.int32, device=DEVICE), actual_seq_kvlen=[11],
    )  # fmt: skip
    allowed = torch.zeros(2, 1, 11, dtype=torch.bool)
    allowed[0, 0, [0, 1, 8, 9]] = True
    allowed[1, 0, [10, 4, 5, 2, 3]] = True
    result = attention(q.double(), k.double(), v.double(), allowed.repeat_interleave(2, 0), 0.3)[0]
    close(out.reshape(result.shape), result)


@pytest.mark.parametrize("layout", ["TND", "BNSD"])
def test_attention_between_blocks(layout):
    rows, columns, shape = [3, 5], [7, 4], [2, 3]
    shapes = ((rows, (4, 8)), (columns, (2, 8)), (columns, (2, 8)), (rows, (4, 8)))
    q, k, v, grad = ([halves(n, *s) for n in c] for c, s in shapes)
    mask = torch.rand(2, 4, 3, 3) > 0.4
    mask[..., 0] = True

    def laid_out(sequences):
        if layout == "TND":
            return torch.cat(sequences)
        return torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True).transpose(1, 2)

    def parts(tensor, counts):
        return tensor.split(counts) if layout == "TND" else [tensor[i, :, :n].transpose(0, 1) for i, n in enumerate(counts)]

    options = {"num_key_value_heads": 2, "q_input_layout": layout, "kv_input_layout": layout, "scale_value": 0.3}
    lengths = {"actual_seq_lengths": rows, "actual_seq_lengths_kv": columns}
    on_device = there(*(laid_out(t) for t in (q, k, v)))
    out, lse = torch_npu.npu_block_sparse_attention(
        *on_device, mask.to(torch.int8).to(DEVICE), shape, **options, **lengths, softmax_lse_flag=1
    )
    gradients = torch_npu.npu_block_sparse_attention_backward(
        laid_out(grad).contiguous().to(DEVICE),
        *on_device,
        out,
        lse,
        mask.to(torch.int8).to(DEVICE),
        block_shape=shape,
        **options,
        **lengths,
    )
    for i, (m, n) in enumerate(zip(rows, columns, strict=True)):
        allowed = mask[i].repeat_interleave(2, 1)[:, :m].repeat_interleave(3, 2)[:, :, :n]
        leaves = [t[i].double().requires_grad_() for t in (q, k, v)]
        result, _, scores = attention(*leaves, allowed, 0.3)
        close(parts(out, rows)[i], result)
        close(parts(lse, rows)[i][..., 0].t(), scores.logsumexp(2))
        wanted = torch.autograd.grad(result, leaves, grad[i].double())
        close((parts(t, c)[i] for t, c in zip(gradients, (rows, columns, columns), strict=True)), wanted)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_by_way_of_others(masked):
    b, h, n, m, k, d = 2, 2, 3, 5, 4, 8
    q, k1, v1, k2, v2, grad = (halves(b, h, *s, d) for s in ((n, m), (n, k), (n, k), (k, m), (k, m), (n, m)))
    mask = torch.rand(b, 1, n, 1, k) > 0.6 if masked else None
    if masked:
        mask[..., 0] = False
    leaves = [t.double().requires_grad_() for t in (q, k1, v1, k2, v2)]
    scores = torch.einsum("bhnmd,bhnkd->bhnmk", leaves[0], leaves[1]) + torch.einsum("bhnmd,bhkmd->bhnmk", leaves[0], leaves[3])
    scores = scores * 0.3 if mask is None else (scores * 0.3).masked_fill(mask, -torch.inf)
    weights = scores.softmax(4)
    expected = torch.einsum("bhnmk,bhnkd->bhnmd", weights, leaves[2]) + torch.einsum("bhnmk,bhkmd->bhnmd", weights, leaves[4])
    options = {"atten_mask": None if mask is None else mask.to(DEVICE), "scale_value": 0.3}
    on_device = there(q, k1, v1, k2, v2)
    maximum, total, out = torch_npu.npu_fused_floyd_attention(*on_device, **options)
    close(out, expected)
    close(maximum[..., 0], scores.amax(4))
    close(total[..., 7], (scores - scores.amax(4, keepdim=True)).exp().sum(4))
    got = torch_npu.npu_fused_floyd_attention_backward(grad.to(DEVICE), *on_device, out, maximum, total, **options)
    close(got, torch.autograd.grad(expected, leaves, grad.double()), 2e-2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"select_block_size": 2**62}, "selectBlockSize: expected at most 4096, got 4611686018427387904"),
        ({"select_block_size": 3}, "selectBlockSize: expected a multiple of 2 that is at least 4, got 3"),
        ({"compress_stride": 8}, "compressStride: expected at most compressBlockSize, 4, got 8"),
        ({"actual_sel_seq_kvlen": [4]}, "actualSelSeqKvLen: expected 3 blocks more for the 6 compressed ones of sequence 0, got 4"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(changes, message):
    sizes = {"scale_value": 1.0, "head_num": 2, "compress_block_size": 4, "compress_stride": 2, "select_block_size": 4}
    ends = {"actual_seq_qlen": [3], "actual_cmp_seq_kvlen": [6], "actual_sel_seq_kvlen": [3]}
    tensors = there(halves(3, 2, 8), halves(6, 2, 8), halves(6, 2, 8))
    with pytest.raises(RuntimeError, match=re.escape(message)):
        torch_npu.npu_nsa_compress_attention(*tensors, **sizes | {"select_block_count": 1} | ends | changes)
