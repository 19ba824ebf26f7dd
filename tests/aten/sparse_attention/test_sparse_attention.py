"""sparse_attention.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, close, on_npu
from definitions import attention_of_rows as attention
from definitions import exponentials, halves
from sequences import KEYS, LAYOUTS, QUERIES, allowed_by, asked, choices, gathered, lengths, parts, seen


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("mode", "block", "sinks"), [(3, 1, False), (0, 2, False), (3, 1, True)])
def test_sparse_attention(layout, mode, block, sinks):
    q, k, qr, kr = ([halves(n, h, d) for n in counts] for counts, h, d in ((QUERIES, 4, 8), (KEYS, 1, 8), (QUERIES, 4, 4), (KEYS, 1, 4)))
    chosen = choices(2, block, [-(-n // block) for n in KEYS])
    if mode == 3:  # indices of visible positions, so that no row is empty
        chosen = [torch.where(c < 0, -1, c.clamp(max=2)) for c in chosen]
    sink = torch.randn(4) if sinks else None
    query_layout, options = asked(layout, "actual_seq_lengths_kv", "layout_kv")
    laid_out = [
        gathered(t, of).to(DEVICE) for t, of in ((q, query_layout), (k, layout), (chosen, query_layout), (qr, query_layout), (kr, layout))
    ]
    returned = layout != "PA_BSND"
    got, maximum, total = on_npu(
        torch_npu.npu_sparse_flash_attention, laid_out[0], laid_out[1], laid_out[1], laid_out[2], 0.3, query_rope=laid_out[3],
        key_rope=laid_out[4], sparse_block_size=block, sparse_mode=mode, attention_mode=2, return_softmax_lse=returned,
        sinks=sink, **options,
    )  # fmt: skip
    for i, (rows, columns) in enumerate(zip(QUERIES, KEYS, strict=True)):
        whole = [torch.cat(pair, -1).double() for pair in ((q[i], qr[i]), (k[i], kr[i]))]
        allowed = allowed_by(chosen[i], block, columns) & seen(rows, columns, mode == 3)
        result, _, scores = attention(*whole, k[i], allowed, 0.3, sink)
        close(parts(got, QUERIES, query_layout)[i], result)
        if returned:
            statistics = [t[0].split(QUERIES)[i] if layout == "TND" else t[i, 0, :rows] for t in (maximum, total)]
            close((statistic.t() for statistic in statistics), exponentials(scores))


@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_gradients_of_sparse_attention(layout):
    shapes = ((QUERIES, 4, 8), (KEYS, 1, 8), (KEYS, 1, 8), (QUERIES, 4, 4), (KEYS, 1, 4), (QUERIES, 4, 8))
    q, k, v, qr, kr, grad = ([halves(n, h, d) for n in counts] for counts, h, d in shapes)
    chosen = [torch.where(c < 0, -1, c.clamp(max=2)) for c in choices(2, 1, KEYS)]
    q_, k_, v_, c_, g_, qr_, kr_ = (gathered(t, layout).to(DEVICE) for t in (q, k, v, chosen, grad, qr, kr))
    statistics = torch.zeros((1, 5, 4) if layout == "TND" else (2, 1, 3, 4), device=DEVICE)
    ends = {"actual_seq_qlen": lengths(QUERIES, layout), "actual_seq_kvlen": lengths(KEYS, layout)}
    got = torch_npu.npu_sparse_flash_attention_grad(
        q_, k_, v_, c_, g_, g_, statistics, statistics, 0.3, 1, query_rope=qr_, key_rope=kr_, layout=layout, **ends
    )
    for i, (rows, columns) in enumerate(zip(QUERIES, KEYS, strict=True)):
        leaves = [t[i].double().requires_grad_() for t in (q, k, v, qr, kr)]
        allowed = allowed_by(chosen[i], 1, columns) & seen(rows, columns)
        result = attention(torch.cat((leaves[0], leaves[3]), -1), torch.cat((leaves[1], leaves[4]), -1), leaves[2], allowed, 0.3)[0]
        of_sequence = [parts(t, counts, layout)[i] for t, counts in zip(got, (QUERIES, KEYS, KEYS, QUERIES, KEYS), strict=True)]
        close(of_sequence, torch.autograd.grad(result, leaves, grad[i].double()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_attention_to_packed_keys(layout):
    q, rope = [halves(n, 4, 12) for n in QUERIES], [halves(n, 1, 4) for n in KEYS]
    numbers, scales = [torch.randint(-128, 128, (n, 1, 8), dtype=torch.int8) for n in KEYS], [torch.rand(n, 1, 2) / 64 for n in KEYS]
    packed = [torch.cat((n, r.view(torch.int8), s.view(torch.int8)), -1) for n, r, s in zip(numbers, rope, scales, strict=True)]
    chosen = [torch.where(c < 0, -1, c.clamp(max=2)) for c in choices(2, 1, KEYS)]
    query_layout, options = asked(layout, "actual_seq_lengths_kv", "layout_kv")
    query, key, places = (gathered(t, of).to(DEVICE) for t, of in ((q, query_layout), (packed, layout), (chosen, query_layout)))
    got = torch_npu.npu_kv_quant_sparse_flash_attention(
        query, key, key, places, 0.3, 2, 2, attention_mode=2, quant_scale_repo_mode=1, tile_size=4, rope_head_dim=4, **options
    )
    for i, have in enumerate(parts(got, QUERIES, query_layout)):
        plain = numbers[i].double() * scales[i].double().repeat_interleave(4, -1)
        allowed = allowed_by(chosen[i], 1, KEYS[i]) & seen(QUERIES[i], KEYS[i])
        close(have, attention(q[i].double(), torch.cat((plain, rope[i].double()), -1), plain, allowed, 0.3)[0])
