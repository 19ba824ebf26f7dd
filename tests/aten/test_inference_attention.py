"""inference_attention.cpp and key_value_cache.cpp: one head of one sequence after the other, in float64."""

import pytest
import torch
import torch_npu

from cases import DEVICE, close, there
from direct import failure, refusal
from support.marks import refused_at_once

HALVES = (torch.float16, torch.bfloat16)
TO_LAYOUT = {
    "BNSD": lambda x: x,
    "BSND": lambda x: x.transpose(1, 2),
    "BSH": lambda x: x.transpose(1, 2).flatten(2),
    "NBSD": lambda x: x.transpose(0, 1),
}


def attend(q, k, v, scale, masked=None, shift=None, sink=None):
    """Attention of {heads, positions, features}: the result and the logarithm of the sum of exponentials."""
    q, k, v = q.double(), *(t.double().repeat_interleave(len(q) // len(t), 0) for t in (k, v))
    scores = q @ k.mT * scale
    if shift is not None:
        scores = scores + shift.double()
    if masked is not None:
        scores = scores.masked_fill(masked, -torch.inf)
    whole = scores if sink is None else torch.cat((scores, sink.double().view(-1, 1, 1).expand(-1, q.shape[1], 1)), 2)
    lse = whole.logsumexp(2, True)
    return (scores - lse).exp() @ v, lse


def heads(*shape, dtype):
    return torch.randn(shape).to(dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "BNSD_BSND", "BSND_BNSD", "BSH_NBSD"])
def test_layouts(layout, dtype):
    """Three times as many heads in the query; the second sequence has fewer positions than there is room for."""
    q, k, v = heads(2, 6, 5, 8, dtype=dtype), heads(2, 2, 7, 8, dtype=dtype), heads(2, 2, 7, 8, dtype=dtype)
    own, out = layout.split("_")[0], layout.split("_")[-1]
    got, lse = torch_npu.npu_fused_infer_attention_score(
        *there(*(TO_LAYOUT[own](x) for x in (q, k, v))), num_heads=6, num_key_value_heads=2, scale=0.3, input_layout=layout,
        actual_seq_lengths=[5, 3], actual_seq_lengths_kv=[7, 4], softmax_lse_flag=True,
    )  # fmt: skip
    expected, sums = torch.zeros(2, 6, 5, 8, dtype=torch.float64), torch.zeros(2, 6, 5, 1, dtype=torch.float64)
    for i, (rows, columns) in enumerate(((5, 7), (3, 4))):
        expected[i, :, :rows], sums[i, :, :rows] = attend(q[i, :, :rows], k[i, :, :columns], v[i, :, :columns], 0.3)
    close(got, TO_LAYOUT[out](expected))
    close(lse, sums)


def test_other_features_in_the_value():
    q, k, v = heads(1, 2, 3, 8, dtype=torch.half), heads(1, 2, 4, 8, dtype=torch.half), heads(1, 2, 4, 8, dtype=torch.half)
    rope = [heads(1, 2, n, 4, dtype=torch.half) for n in (3, 4)]
    got, _ = torch_npu.npu_fused_infer_attention_score(
        *there(q, k, v), num_heads=2, input_layout="BNSD", query_rope=there(rope[0])[0], key_rope=there(rope[1])[0], scale=0.5
    )
    expected, _ = attend(torch.cat((q, rope[0]), 3)[0], torch.cat((k, rope[1]), 3)[0], v[0], 0.5)
    close(got[0], expected)


def mask_of(mode, rows, columns, mask, before, after):
    distance = torch.arange(columns) - torch.arange(rows).unsqueeze(1)
    if mode == 0:
        return mask | (distance > after) | (distance < -before)
    from_end = distance - (columns - rows)
    return {1: mask, 2: distance > 0, 3: from_end > 0, 4: (from_end > after) | (from_end < -before)}[mode]


@pytest.mark.parametrize("mode", [0, 1, 2, 3, 4])
def test_masks(mode):
    q, k, v = (heads(2, 2, n, 8, dtype=torch.half) for n in (5, 7, 7))
    mask = torch.rand(2, 1, 5, 7) < 0.3
    mask[..., 0] = False
    fixed = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    got, _ = torch_npu.npu_fused_infer_attention_score(
        *there(q, k, v), atten_mask=(fixed if mode > 1 else mask).to(DEVICE), num_heads=2, input_layout="BNSD", sparse_mode=mode,
        pre_tokens=4, next_tokens=2, scale=1.0,
    )  # fmt: skip
    for i in range(2):
        expected, _ = attend(q[i], k[i], v[i], 1.0, mask_of(mode, 5, 7, mask[i, 0], 4, 2))
        close(got[i], expected)


def test_a_row_of_which_nothing_counts_is_zero():
    q, k, v = (heads(1, 1, 3, 8, dtype=torch.half) for _ in range(3))
    mask = torch.tensor([[False] * 3, [True] * 3, [False] * 3]).view(1, 1, 3, 3)
    got, _ = torch_npu.npu_fused_infer_attention_score(
        *there(q, k, v), atten_mask=mask.to(DEVICE), num_heads=1, input_layout="BNSD", sparse_mode=1
    )
    assert not got[0, 0, 1].cpu().any() and got[0, 0, 0].cpu().any()


def test_shift_of_positions():
    q, k, v, shift = (heads(2, 2, 5, n, dtype=torch.half) for n in (8, 8, 8, 5))
    got, _ = torch_npu.npu_fused_infer_attention_score(
        *there(q, k, v), pse_shift=shift.to(DEVICE), num_heads=2, input_layout="BNSD", scale=0.25
    )
    for i in range(2):
        close(got[i], attend(q[i], k[i], v[i], 0.25, shift=shift[i])[0])


@pytest.mark.parametrize("causal", [False, True])
def test_sequences_below_each_other(causal):
    rows, columns = (3, 1, 4), (3, 2, 6)
    q, k, v = (heads(n, 2, 64, dtype=torch.half) for n in (8, 11, 11))
    ends = [torch.tensor(n).cumsum(0).tolist() for n in (rows, columns)]
    triangle = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    got, lse = torch_npu.npu_fused_infer_attention_score(
        *there(q, k, v), num_heads=2, num_key_value_heads=2, input_layout="TND", actual_seq_lengths=ends[0], actual_seq_lengths_kv=ends[1],
        atten_mask=triangle.to(DEVICE) if causal else None, sparse_mode=3 if causal else 0, scale=0.25, softmax_lse_flag=True,
    )  # fmt: skip
    expected = []
    for parts in zip(q.split(rows), k.split(columns), v.split(columns), strict=True):
        masked = mask_of(3, len(parts[0]), len(parts[1]), None, 0, 0) if causal else None
        expected.append(attend(*(part.transpose(0, 1) for part in parts), 0.25, masked))
    close(got, torch.cat([x.transpose(0, 1) for x, _ in expected]))
    close(lse, torch.cat([x.transpose(0, 1) for _, x in expected]))


def paged(sequences, blocks, form):
    """A cache of blocks of 4 with the sequences' {heads, positions, features} in it, and its table."""
    count, features = sequences[0].shape[0], sequences[0].shape[2]
    cache = torch.randn(16, count, 4, features).to(sequences[0].dtype)
    table = torch.full((len(sequences), 4), -1, dtype=torch.int32)
    for i, sequence in enumerate(sequences):
        for j, piece in enumerate(sequence.split(4, 1)):
            table[i, j] = blocks[4 * i + j]
            cache[table[i, j], :, : piece.shape[1]] = piece
    shaped = {3: cache.transpose(1, 2).flatten(2), 4: cache, 5: cache.unflatten(3, (-1, 16)).permute(0, 1, 3, 2, 4)}
    return shaped[form], table


@pytest.mark.parametrize("form", [3, 4, 5])
@pytest.mark.parametrize("packed", [False, True])
def test_pages(packed, form):
    """Of a cache, for one position of each sequence; the lengths are those of the keys."""
    lengths = (9, 4, 13)
    q = heads(3, 4, 1, 64, dtype=torch.half)
    keys, values = ([heads(2, n, 64, dtype=torch.half) for n in lengths] for _ in range(2))
    blocks = torch.randperm(16).tolist()
    (key, table), (value, _) = (paged(t, blocks, form) for t in (keys, values))
    query = q.squeeze(2) if packed else q.transpose(1, 2).flatten(2)
    got, _ = torch_npu.npu_fused_infer_attention_score(
        *there(query, key, value), num_heads=4, num_key_value_heads=2, input_layout="TND" if packed else "BSH", scale=0.2, block_size=4,
        block_table=table.to(DEVICE), actual_seq_lengths=[1, 2, 3] if packed else None, actual_seq_lengths_kv=list(lengths),
    )  # fmt: skip
    expected = torch.stack([attend(a, b, c, 0.2)[0] for a, b, c in zip(q, keys, values, strict=True)])
    close(got.view(3, 4, 1, 64), expected)


def test_the_second_version_with_a_sink():
    q, k, v = (heads(2, 3, 5, 8, dtype=torch.bfloat16) for _ in range(3))
    sink = torch.randn(3).bfloat16()
    got, lse = torch_npu.npu_fused_infer_attention_score_v2(
        *there(q, k, v), num_query_heads=3, input_layout="BNSD", softmax_scale=0.5, learnable_sink=sink.to(DEVICE), return_softmax_lse=True
    )
    expected = [attend(a, b, c, 0.5, sink=sink) for a, b, c in zip(q, k, v, strict=True)]
    close(got, torch.stack([x for x, _ in expected]))
    close(lse, torch.stack([x for _, x in expected]))


def test_a_result_of_bytes():
    q, k, v = (heads(1, 2, 3, 8, dtype=torch.half) for _ in range(3))
    got, _ = torch_npu.npu_fused_infer_attention_score(
        *there(q, k, v), num_heads=2, input_layout="BNSD", quant_scale2=torch.tensor([50.0], device=DEVICE)
    )
    assert got.dtype == torch.int8
    assert ((got.cpu().double() - attend(q[0], k[0], v[0], 1.0)[0] * 50).abs() <= 0.51).all()


def test_prompt_and_increment():
    q, k, v = (heads(2, 2, n, 8, dtype=torch.half) for n in (5, 7, 7))
    options = {"num_heads": 2, "input_layout": "BNSD", "scale_value": 0.5}
    got = torch_npu.npu_prompt_flash_attention(*there(q, k, v), **options, actual_seq_lengths=[5, 2])
    close(got[0], attend(q[0], k[0], v[0], 0.5)[0])
    close(got[1, :, :2], attend(q[1, :, :2], k[1], v[1], 0.5)[0])
    mask = torch.tensor([[False] * 7, [False, True] * 3 + [False]])
    got = torch_npu.npu_incre_flash_attention(*there(q[:, :, :1], k, v), **options, actual_seq_lengths=[7, 6], atten_mask=mask.to(DEVICE))
    close(got[0], attend(q[0, :, :1], k[0], v[0], 0.5)[0])
    close(got[1], attend(q[1, :, :1], k[1, :, :6], v[1, :, :6], 0.5, mask[1, :6])[0])


def test_lengths_of_queries_with_one_position_mean_nothing():
    """Programs pass the lengths of the keys there."""
    q, k, v = heads(1, 2, 1, 8, dtype=torch.half), heads(1, 2, 30, 8, dtype=torch.half), heads(1, 2, 30, 8, dtype=torch.half)
    options = {"num_heads": 2, "input_layout": "BNSD", "scale": 0.5, "actual_seq_lengths": [29], "actual_seq_lengths_kv": [29]}
    got = torch_npu.npu_fused_infer_attention_score(*there(q, k, v), **options)[0]
    close(got[0], attend(q[0], k[0, :, :29], v[0, :, :29], 0.5)[0])


@refused_at_once
def test_what_does_not_fit_is_refused():
    q = torch.randn(1, 2, 3, 8, device=DEVICE).half()
    for options, name in (
        ({"num_heads": 3}, "query: expected 3 heads"),
        ({"num_heads": 2, "actual_seq_lengths_kv": [4]}, "actualSeqLengthsKv: expected numbers from 0 to 3"),
        ({"num_heads": 2, "antiquant_scale": q}, "antiquantScale: expected null"),
        ({"num_heads": 2, "block_table": torch.zeros(1, 1, dtype=torch.int32, device=DEVICE)}, "actualSeqLengthsKv"),
        ({"num_heads": 2, "sparse_mode": 5}, "sparseMode: expected a value in 0..4"),
    ):
        with pytest.raises(RuntimeError, match=name):
            torch_npu.npu_fused_infer_attention_score(q, q, q, input_layout="BNSD", **options)
            torch.npu.synchronize()


# Caches -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["Norm", "PA_NZ"])
def test_scatter_into_pages(mode):
    """A token without a slot goes nowhere."""
    key, value, slots = torch.randn(5, 2, 16).half(), torch.randn(5, 2, 32).half(), torch.tensor([7, 0, -1, 11, 4], dtype=torch.int32)
    caches = [torch.randn(3, 4, 2, n).half() for n in (16, 32)]
    stored = [c.flatten(2).unflatten(2, (-1, 16)).transpose(1, 2).contiguous() if mode == "PA_NZ" else c for c in caches]
    on_device = there(*stored)
    torch_npu.npu_scatter_pa_kv_cache(*there(key, value), *on_device, slots.to(DEVICE), cache_mode=mode)
    for got, cache, rows in zip(on_device, caches, (key, value), strict=True):
        for row, slot in zip(rows, slots.tolist(), strict=True):
            if slot >= 0:
                cache[slot // 4, slot % 4] = row
        plain = got.cpu().transpose(1, 2).flatten(2).unflatten(2, (2, -1)) if mode == "PA_NZ" else got.cpu()
        assert plain.equal(cache)


@pytest.mark.parametrize("cumulative", [False, True])
def test_gather_from_pages(cumulative):
    caches, lengths = [torch.randn(6, 4, 2, n) for n in (8, 16)], [6, 7, 2]
    table = torch.tensor([[3, 0], [5, -1], [1, 2]], dtype=torch.int32)
    seq_lens = torch.tensor([0, *torch.tensor(lengths).cumsum(0)] if cumulative else lengths, dtype=torch.int32)
    out = [torch.ones(15, 2, n, device=DEVICE) for n in (8, 16)]
    offset = torch.tensor([0, 0, 4], dtype=torch.int32, device=DEVICE)
    torch_npu.npu_gather_pa_kv_cache(*there(*caches, table, seq_lens), *out, seq_offset=offset, is_seq_lens_cumsum=cumulative)
    for got, cache in zip(out, caches, strict=True):
        zeros = torch.zeros_like(cache[0])
        rows = torch.cat((cache[3], cache[0, :2], cache[5], zeros[:3], cache[2, :2]))
        assert got.cpu().equal(rows)


@pytest.mark.parametrize("mode", ["Norm", "PA", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ"])
@pytest.mark.parametrize("quantised", [False, True])
def test_latent_cache(quantised, mode):
    kv, gamma = torch.randn(2, 1, 3, 576).half(), torch.rand(512).half()
    angles = torch.rand(2, 1, 3, 64)
    cos, sin = angles.cos().half(), angles.sin().half()
    norm, blk = mode == "Norm", "BLK" in mode
    dtype = torch.int8 if quantised else torch.half
    caches = [torch.ones((2, 1, 8, n) if norm else (4, 4, 1, n), dtype=dtype) for n in (64, 512)]
    index = {True: torch.tensor([[5, 0, 7], [2, 3, -1]]), False: torch.tensor([9, 1, 6, 15, 0, -1])}[norm]
    index = torch.tensor([8, 4]) if blk else index
    slots = [8, 9, 10, 4, 5, 6] if blk else [5, 0, 7, 10, 11, -1] if norm else index.tolist()
    scales = [torch.rand(n) * 20 for n in (64, 512)] if quantised else [None, None]
    on_device = there(*caches)
    _, _, k_rope, c_kv = torch_npu.npu_kv_rmsnorm_rope_cache(
        *there(kv, gamma, cos, sin, index), *on_device, k_rope_scale=there(scales[0])[0], c_kv_scale=there(scales[1])[0], cache_mode=mode,
        is_output_kv=True,
    )  # fmt: skip
    x = kv.double()
    normal = x[..., :512] / (x[..., :512].square().mean(-1, True) + 1e-5).sqrt() * gamma.double()
    even, odd = x[..., 512::2], x[..., 513::2]
    turned = torch.cat((even, odd), -1) * cos.double() + torch.cat((-odd, even), -1) * sin.double()
    close(k_rope, turned)
    close(c_kv, normal)
    for got, rows, scale in zip(on_device, (turned, normal), scales, strict=True):
        flat = got.cpu().double()
        if "NZ" in mode:
            together = 32 if quantised else 16
            flat = flat.view(4, -1, 4, together).transpose(1, 2)
        flat = flat.reshape(16, -1)
        for row, slot in zip(rows.view(6, -1), slots, strict=True):
            if slot >= 0:
                expected = row if scale is None else (row * scale.double()).clamp(-128, 127)
                torch.testing.assert_close(flat[slot], expected, rtol=3e-3, atol=3e-3 if scale is None else 0.51)
        assert (flat[[s for s in range(16) if s not in slots]] == 1).all()


def test_scatter_update():
    data, updates = torch.zeros(2, 3, 4, 5), torch.randn(2, 3, 2, 5)
    got = torch_npu.scatter_update(data.to(DEVICE), torch.tensor([1, 2]).to(DEVICE), updates.to(DEVICE), -2).cpu()
    expected = data.clone()
    expected[0, :, 1:3], expected[1, :, 2:4] = updates[0], updates[1]
    assert got.equal(expected)
    there_ = data.to(DEVICE)
    torch_npu.scatter_update_(there_, torch.tensor([[1, 0]]).to(DEVICE), updates[:1].to(DEVICE), -2)
    assert there_.cpu()[1, :, :2].equal(updates[0]) and not there_.cpu()[0].any()


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES], ids=str)
def test_attention_update(dtype):
    lse, parts = [torch.randn(6) * 3 for _ in range(3)], [torch.randn(6, 8).to(dtype) for _ in range(3)]
    out, whole = torch_npu.npu_attention_update(there(*lse), there(*parts), 1)
    weights = torch.stack(lse).double().softmax(0)
    expected = sum(w.unsqueeze(1) * p.double() for w, p in zip(weights, parts, strict=True))
    close(out, expected)
    close(whole, torch.stack(lse).double().logsumexp(0))


def test_a_slot_behind_the_cache_is_found():
    key, cache = torch.randn(1, 1, 8, device=DEVICE), torch.zeros(2, 4, 1, 8, device=DEVICE)
    slot = torch.tensor([8], dtype=torch.int32, device=DEVICE)
    code, message = failure("aclnnScatterPaCache", key, cache, slot, None, None, None, b"Norm")
    assert code != 0 and "slotMapping: expected values in [0, 8), got 8 at position [0]" in message
    code, message = refusal("aclnnScatterPaCache", key, cache, slot[:0], None, None, None, b"Norm")
    assert code == 161002 and "slotMapping: expected 1 slots" in message
