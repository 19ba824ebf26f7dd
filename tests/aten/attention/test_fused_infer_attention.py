"""fused_infer_attention.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, HALVES, close, on_npu
from definitions import attention, halves
from sequences import TO_LAYOUT

from support.marks import refused_at_once


def score(*tensors, **options):
    return on_npu(torch_npu.npu_fused_infer_attention_score, *tensors, **options)


def mask_of(mode, rows, columns, mask, before, after):
    distance = torch.arange(columns) - torch.arange(rows).unsqueeze(1)
    if mode == 0:
        return mask | (distance > after) | (distance < -before)
    from_end = distance - (columns - rows)
    return {1: mask, 2: distance > 0, 3: from_end > 0, 4: (from_end > after) | (from_end < -before)}[mode]


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


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "BNSD_BSND", "BSND_BNSD", "BSH_NBSD"])
def test_layouts(layout, dtype):
    q, k, v = (torch.randn(2, *shape, 8).to(dtype) for shape in ((6, 5), (2, 7), (2, 7)))
    own, out = layout.split("_")[0], layout.split("_")[-1]
    got, lse = score(
        *(TO_LAYOUT[own](x) for x in (q, k, v)), num_heads=6, num_key_value_heads=2, scale=0.3,
        input_layout=layout, actual_seq_lengths=[5, 3], actual_seq_lengths_kv=[7, 4], softmax_lse_flag=True,
    )  # fmt: skip
    expected, sums = torch.zeros(2, 6, 5, 8, dtype=torch.float64), torch.zeros(2, 6, 5, 1, dtype=torch.float64)
    for i, (rows, columns) in enumerate(((5, 7), (3, 4))):
        expected[i, :, :rows], sums[i, :, :rows] = attention(q[i, :, :rows], k[i, :, :columns], v[i, :, :columns], 0.3)[:2]
    close(got, TO_LAYOUT[out](expected))
    close(lse, sums)


def test_other_features_in_the_value():
    q, k, v = halves(1, 2, 3, 8), halves(1, 2, 4, 8), halves(1, 2, 4, 8)
    rope = [halves(1, 2, n, 4) for n in (3, 4)]
    got, _ = score(q, k, v, num_heads=2, input_layout="BNSD", query_rope=rope[0], key_rope=rope[1], scale=0.5)
    close(got, attention(torch.cat((q, rope[0]), 3), torch.cat((k, rope[1]), 3), v, 0.5)[0])


@pytest.mark.parametrize("mode", [0, 1, 2, 3, 4])
def test_masks(mode):
    q, k, v = (halves(2, 2, n, 8) for n in (5, 7, 7))
    mask = torch.rand(2, 1, 5, 7) < 0.3
    mask[..., 0] = False
    fixed = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    got, _ = score(
        q, k, v, atten_mask=(fixed if mode > 1 else mask), num_heads=2, input_layout="BNSD",
        sparse_mode=mode, pre_tokens=4, next_tokens=2, scale=1.0,
    )  # fmt: skip
    close(got, attention(q, k, v, 1.0, mask_of(mode, 5, 7, mask, 4, 2))[0])


def test_a_row_of_which_nothing_counts_is_zero():
    q, k, v = (halves(1, 1, 3, 8) for _ in range(3))
    mask = torch.tensor([[False] * 3, [True] * 3, [False] * 3]).view(1, 1, 3, 3)
    got, _ = score(q, k, v, atten_mask=mask, num_heads=1, input_layout="BNSD", sparse_mode=1)
    assert not got[0, 0, 1].cpu().any() and got[0, 0, 0].cpu().any()


def test_shift_of_positions():
    q, k, v, shift = (halves(2, 2, 5, n) for n in (8, 8, 8, 5))
    got, _ = score(q, k, v, pse_shift=shift, num_heads=2, input_layout="BNSD", scale=0.25)
    close(got, attention(q, k, v, 0.25, shift=shift)[0])


@pytest.mark.parametrize("causal", [False, True])
def test_sequences_below_each_other(causal):
    rows, columns = (3, 1, 4), (3, 2, 6)
    q, k, v = (halves(n, 2, 64) for n in (8, 11, 11))
    ends = [torch.tensor(n).cumsum(0).tolist() for n in (rows, columns)]
    triangle = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    got, lse = score(
        q, k, v, num_heads=2, num_key_value_heads=2, input_layout="TND", actual_seq_lengths=ends[0], actual_seq_lengths_kv=ends[1],
        atten_mask=triangle if causal else None, sparse_mode=3 if causal else 0, scale=0.25, softmax_lse_flag=True,
    )  # fmt: skip
    expected = []
    for parts in zip(q.split(rows), k.split(columns), v.split(columns), strict=True):
        masked = mask_of(3, len(parts[0]), len(parts[1]), None, 0, 0) if causal else None
        expected.append(attention(*(part.transpose(0, 1) for part in parts), 0.25, masked))
    close((got, lse), [torch.cat([results[i].transpose(0, 1) for results in expected]) for i in range(2)])


@pytest.mark.parametrize("form", [3, 4, 5])
@pytest.mark.parametrize("packed", [False, True])
def test_pages(packed, form):
    lengths = (9, 4, 13)
    q = halves(3, 4, 1, 64)
    keys, values = ([halves(2, n, 64) for n in lengths] for _ in range(2))
    blocks = torch.randperm(16).tolist()
    (key, table), (value, _) = (paged(t, blocks, form) for t in (keys, values))
    query = q.squeeze(2) if packed else q.transpose(1, 2).flatten(2)
    got, _ = score(
        query, key, value, num_heads=4, num_key_value_heads=2, input_layout="TND" if packed else "BSH", scale=0.2, block_size=4,
        block_table=table, actual_seq_lengths=[1, 2, 3] if packed else None, actual_seq_lengths_kv=list(lengths),
    )  # fmt: skip
    expected = torch.stack([attention(a, b, c, 0.2)[0] for a, b, c in zip(q, keys, values, strict=True)])
    close(got.view(3, 4, 1, 64), expected)


def test_the_second_version_with_a_sink():
    q, k, v, sink = (torch.randn(shape).bfloat16() for shape in (*[(2, 3, 5, 8)] * 3, (3,)))
    got = on_npu(
        torch_npu.npu_fused_infer_attention_score_v2, q, k, v, num_query_heads=3, input_layout="BNSD", softmax_scale=0.5,
        learnable_sink=sink, return_softmax_lse=True,
    )  # fmt: skip
    close(got, attention(q, k, v, 0.5, sink=sink)[:2])


def test_a_result_of_bytes():
    q, k, v = (halves(1, 2, 3, 8) for _ in range(3))
    got, _ = score(q, k, v, num_heads=2, input_layout="BNSD", quant_scale2=torch.tensor([50.0], device=DEVICE))
    assert got.dtype == torch.int8
    assert ((got.cpu().double() - attention(q[0], k[0], v[0], 1.0)[0] * 50).abs() <= 0.51).all()


def test_prompt_and_increment():
    q, k, v = (halves(2, 2, n, 8) for n in (5, 7, 7))
    options = {"num_heads": 2, "input_layout": "BNSD", "scale_value": 0.5}
    got = on_npu(torch_npu.npu_prompt_flash_attention, q, k, v, **options, actual_seq_lengths=[5, 2])
    close(got[1, :, :2], attention(q[1, :, :2], k[1], v[1], 0.5)[0])
    mask = torch.tensor([[False] * 7, [False, True] * 3 + [False]])
    got = on_npu(torch_npu.npu_incre_flash_attention, q[:, :, :1], k, v, **options, actual_seq_lengths=[7, 6], atten_mask=mask)
    close(got[1], attention(q[1, :, :1], k[1, :, :6], v[1, :, :6], 0.5, mask[1, :6])[0])


def test_lengths_of_queries_with_one_position_mean_nothing():
    """Programs pass the lengths of the keys there."""
    q, k, v = halves(1, 2, 1, 8), halves(1, 2, 30, 8), halves(1, 2, 30, 8)
    options = {"num_heads": 2, "input_layout": "BNSD", "scale": 0.5, "actual_seq_lengths": [29], "actual_seq_lengths_kv": [29]}
    got = score(q, k, v, **options)[0]
    close(got[0], attention(q[0], k[0, :, :29], v[0, :, :29], 0.5)[0])


@refused_at_once
def test_what_does_not_fit_is_refused():
    q = torch.randn(1, 2, 3, 8, device=DEVICE).half()
    for options, name in (
        ({"num_heads": 3}, "query: expected 3 heads"),
        ({"num_heads": 2, "actual_seq_lengths_kv": [4]}, "actualSeqLengthsKv: expected numbers from 0 to 3"),
        ({"num_heads": 2, "antiquant_scale": q}, "antiquantScale: expected null"),
        ({"num_heads": 2, "block_table": torch.zeros(1, 1, dtype=torch.int32, device=DEVICE)}, "actualSeqLengthsKv"),
    ):
        with pytest.raises(RuntimeError, match=name):
            torch_npu.npu_fused_infer_attention_score(q, q, q, input_layout="BNSD", **options)
            torch.npu.synchronize()
