"""sparse_attention.cpp, lightning_indexer.cpp and indexer_loss.cpp: one token after the other, in float64, with autograd's gradients."""

import pytest
import torch
import torch_npu

from cases import DEVICE, close

LAYOUTS = ("BSND", "TND", "PA_BSND")
QUERIES, KEYS = (3, 2), (5, 7)  # of two sequences
BLOCK = 4  # positions of a page


def halves(*shape):
    return torch.randn(shape).half()


def gathered(sequences, layout):
    """Tensors of each sequence's positions, in one: with room for the longest, below each other, or in pages that a table names."""
    if layout == "TND":
        return torch.cat(sequences).contiguous()
    if layout == "BSND":
        return torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True)
    pages = torch.full((8, BLOCK, *sequences[0].shape[1:]), 9).to(sequences[0].dtype)
    for i, sequence in enumerate(sequences):
        for block, rows in enumerate(sequence.split(BLOCK)):
            pages[PLACES[i][block], : len(rows)] = rows
    return pages


PLACES = [[5, 2], [0, 7]]


def lengths(counts, layout):
    numbers = torch.tensor(counts, dtype=torch.int32)
    return (numbers.cumsum(0).int() if layout == "TND" else numbers).to(DEVICE)


def parts(tensor, counts, layout):
    """The sequences of a result, which is laid out like the queries."""
    return tensor.split(counts) if layout == "TND" else [tensor[i, :count] for i, count in enumerate(counts)]


def there(layout, *names):
    query_layout = "TND" if layout == "TND" else "BSND"
    options = {"actual_seq_lengths_query": lengths(QUERIES, query_layout), names[0]: lengths(KEYS, layout)}
    table = torch.tensor(PLACES, dtype=torch.int32, device=DEVICE) if layout == "PA_BSND" else None
    return query_layout, options | {"layout_query": query_layout, names[1]: layout, "block_table": table}


def seen(rows, columns, causal=True):
    return torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows if causal else columns)


def attention(q, k, v, allowed, scale, sink=None):
    """Of {rows, heads, features} and {columns, 1, features}; the result, and the maximum and the sum of each row's scores."""
    scores = (torch.einsum("qhd,kd->hqk", q, k[:, 0]) * scale).masked_fill(~allowed, -torch.inf)
    whole = scores if sink is None else torch.cat((scores, sink.view(-1, 1, 1).expand(-1, len(q), 1)), 2)
    weights = whole.softmax(2)[..., : k.shape[0]]
    largest = whole.amax(2)
    return torch.einsum("hqk,kd->qhd", weights, v[:, 0]), largest, (whole - largest.unsqueeze(2)).exp().sum(2)


def choices(count, block, blocks):
    """Blocks for each token, of which one has fewer."""
    chosen = [torch.stack([torch.randperm(b)[:count] for _ in range(rows)]) for rows, b in zip(QUERIES, blocks, strict=True)]
    chosen[0][1, -1] = -1
    return [c.int().unsqueeze(1) for c in chosen]


def allowed_by(indices, block, columns):
    allowed = torch.zeros(len(indices), columns, dtype=torch.bool)
    for row, places in enumerate(indices[:, 0].tolist()):
        for place in places:
            if place >= 0:
                allowed[row, place * block : (place + 1) * block] = True
    return allowed


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("mode", "block", "sinks"), [(3, 1, False), (0, 2, False), (3, 1, True)])
def test_sparse_attention(layout, mode, block, sinks):
    q, k, qr, kr = ([halves(n, h, d) for n in counts] for counts, h, d in ((QUERIES, 4, 8), (KEYS, 1, 8), (QUERIES, 4, 4), (KEYS, 1, 4)))
    chosen = choices(2, block, [-(-n // block) for n in KEYS])
    if mode == 3:  # of what it may see, so that no row is empty
        chosen = [torch.where(c < 0, -1, c.clamp(max=2)) for c in chosen]
    sink = torch.randn(4) if sinks else None
    query_layout, options = there(layout, "actual_seq_lengths_kv", "layout_kv")
    laid_out = [
        gathered(t, of).to(DEVICE) for t, of in ((q, query_layout), (k, layout), (chosen, query_layout), (qr, query_layout), (kr, layout))
    ]
    returned = layout != "PA_BSND"
    got, maximum, total = torch_npu.npu_sparse_flash_attention(
        laid_out[0], laid_out[1], laid_out[1], laid_out[2], 0.3, query_rope=laid_out[3], key_rope=laid_out[4], sparse_block_size=block,
        sparse_mode=mode, attention_mode=2, return_softmax_lse=returned, sinks=sink if sink is None else sink.to(DEVICE), **options,
    )  # fmt: skip
    expected = []
    for i, (rows, columns) in enumerate(zip(QUERIES, KEYS, strict=True)):
        whole = [torch.cat(pair, -1).double() for pair in ((q[i], qr[i]), (k[i], kr[i]))]
        allowed = allowed_by(chosen[i], block, columns) & seen(rows, columns, mode == 3)
        expected.append(attention(*whole, k[i].double(), allowed, 0.3, None if sink is None else sink.double()))
    for have, (want, *_) in zip(parts(got, QUERIES, query_layout), expected, strict=True):
        close(have, want)
    if returned:
        for statistic, which in ((maximum, 1), (total, 2)):
            rows = statistic.cpu()[0].split(QUERIES) if layout == "TND" else [statistic.cpu()[i, 0, :n] for i, n in enumerate(QUERIES)]
            for have, want in zip(rows, expected, strict=True):
                close(have.t(), want[which])


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
    """Of 8 numbers in tiles of 4 with a scale each, and 4 features of rope."""
    q, rope = [halves(n, 4, 12) for n in QUERIES], [halves(n, 1, 4) for n in KEYS]
    numbers, scales = [torch.randint(-128, 128, (n, 1, 8), dtype=torch.int8) for n in KEYS], [torch.rand(n, 1, 2) / 64 for n in KEYS]
    packed = [torch.cat((n, r.view(torch.int8), s.view(torch.int8)), -1) for n, r, s in zip(numbers, rope, scales, strict=True)]
    chosen = [torch.where(c < 0, -1, c.clamp(max=2)) for c in choices(2, 1, KEYS)]
    query_layout, options = there(layout, "actual_seq_lengths_kv", "layout_kv")
    query, key, places = (gathered(t, of).to(DEVICE) for t, of in ((q, query_layout), (packed, layout), (chosen, query_layout)))
    got = torch_npu.npu_kv_quant_sparse_flash_attention(
        query, key, key, places, 0.3, 2, 2, attention_mode=2, quant_scale_repo_mode=1, tile_size=4, rope_head_dim=4, **options
    )
    for i, have in enumerate(parts(got, QUERIES, query_layout)):
        plain = numbers[i].double() * scales[i].double().repeat_interleave(4, -1)
        allowed = allowed_by(chosen[i], 1, KEYS[i]) & seen(QUERIES[i], KEYS[i])
        close(have, attention(q[i].double(), torch.cat((plain, rope[i].double()), -1), plain, allowed, 0.3)[0])


def scores_of(q, k, w):
    return torch.einsum("qh,hqk->qk", w, torch.relu(torch.einsum("qhd,kd->hqk", q, k[:, 0])))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("mode", [0, 3])
def test_choice_of_keys(layout, quantised, mode):
    """Behind the keys that a token may see, the places are -1."""
    count, w = 6, [halves(n, 8) for n in QUERIES]
    query_layout, options = there(layout, "actual_seq_lengths_key", "layout_key")
    if quantised:
        q, k = ([torch.randint(-128, 128, (n, h, 16), dtype=torch.int8) for n in counts] for counts, h in ((QUERIES, 8), (KEYS, 1)))
        qs, ks = ([(torch.rand(n, h) / 64).half() for n in counts] for counts, h in ((QUERIES, 8), (KEYS, 1)))
        scaled = [[(x.double() * s.double().unsqueeze(2)) for x, s in zip(*pair, strict=True)] for pair in ((q, qs), (k, ks))]
        tensors = [
            gathered(t, of).to(DEVICE) for t, of in ((q, query_layout), (k, layout), (w, query_layout), (qs, query_layout), (ks, layout))
        ]
        got = torch_npu.npu_quant_lightning_indexer(*tensors, 0, 0, sparse_count=count, sparse_mode=mode, **options)
    else:
        q, k = ([halves(n, h, 16) for n in counts] for counts, h in ((QUERIES, 8), (KEYS, 1)))
        scaled = [[x.double() for x in t] for t in (q, k)]
        tensors = [gathered(t, of).to(DEVICE) for t, of in ((q, query_layout), (k, layout), (w, query_layout))]
        got, values = torch_npu.npu_lightning_indexer(
            *tensors, sparse_count=count, sparse_mode=mode, return_value=layout != "PA_BSND", **options
        )
    for i, places in enumerate(parts(got, QUERIES, query_layout)):
        scores = scores_of(scaled[0][i], scaled[1][i], w[i].double())
        scores = scores.masked_fill(~seen(*scores.shape, mode == 3), -torch.inf)
        for row, have in enumerate(places[:, 0].cpu()):
            there_are = min(count, int((scores[row] > -torch.inf).sum()))
            assert (have[there_are:] == -1).all()
            best = scores[row].sort(descending=True).values[:there_are]
            assert len(set(have[:there_are].tolist())) == there_are
            torch.testing.assert_close(scores[row][have[:there_are].long()], best, rtol=1e-4, atol=1e-4)
            if not quantised and layout != "PA_BSND":
                close(parts(values, QUERIES, query_layout)[i][row, 0, :there_are], best, 2e-2)


@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_gradients_of_the_scores(layout):
    q, k, w, grad = ([halves(n, *s) for n in c] for c, s in ((QUERIES, (8, 16)), (KEYS, (1, 16)), (QUERIES, (8,)), (QUERIES, (1, 2))))
    chosen = choices(2, 1, KEYS)
    tensors = [gathered(t, layout).to(DEVICE) for t in (q, k, grad, chosen, w)]
    ends = {"actual_seq_lengths_query": lengths(QUERIES, layout), "actual_seq_lengths_key": lengths(KEYS, layout)}
    got = torch_npu.npu_lightning_indexer_grad(*tensors, layout=layout, **ends)
    for i in range(2):
        leaves = [t[i].double().requires_grad_() for t in (q, k, w)]
        values = scores_of(*leaves).gather(1, chosen[i][:, 0].clamp(min=0).long()) * (chosen[i][:, 0] >= 0)
        wanted = torch.autograd.grad(values, leaves, grad[i][:, 0].double())
        close((parts(t, c, layout)[i] for t, c in zip(got, (QUERIES, KEYS, QUERIES), strict=True)), wanted, 2e-2)


@pytest.mark.parametrize("layout", ["BSND", "TND"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "sinks"])
def test_loss_of_the_scores(layout, kind):
    """Its target is the mean over heads of what an attention gives to each key."""
    rows, columns = ((3, 2), (3, 3)) if layout == "BSND" else (QUERIES, KEYS)
    rows, columns = ((3, 3), (5, 5)) if layout == "BSND" else (rows, columns)
    heads = 4 if kind == "dense" else 1
    shapes = (
        (rows, (4, 8)),
        (columns, (heads, 8)),
        (rows, (8, 16)),
        (columns, (1, 16)),
        (rows, (8,)),
        (rows, (4, 4)),
        (columns, (heads, 4)),
    )
    q, k, qi, ki, w, qr, kr = ([halves(n, *s) for n in c] for c, s in shapes)
    chosen = [torch.stack([torch.randperm(n)[:2].int() for _ in range(m)]).unsqueeze(1) for m, n in zip(rows, columns, strict=True)]
    chosen = [c.clamp(max=2) for c in chosen]
    sink = torch.randn(4) if kind == "sinks" else None
    maxima, sums, loss, gradients = [], [], 0.0, []
    for i, (m, n) in enumerate(zip(rows, columns, strict=True)):
        whole = [torch.cat(pair, -1).double() for pair in ((q[i], qr[i]), (k[i], kr[i]))]
        allowed = seen(m, n) if kind == "dense" else seen(m, n) & allowed_by(chosen[i], 1, n)
        scores = torch.einsum("qhd,khd->hqk", whole[0], whole[1].expand(-1, 4, -1)) * 0.3
        scores = scores.masked_fill(~allowed, -torch.inf)
        full = scores if sink is None else torch.cat((scores, sink.double().view(-1, 1, 1).expand(-1, m, 1)), 2)
        maxima.append(full.amax(2))
        sums.append((full - full.amax(2, keepdim=True)).exp().sum(2))
        target = full.softmax(2)[..., :n].sum(0)
        target = target / target.sum(1, keepdim=True)
        leaves = [t[i].double().requires_grad_() for t in (qi, ki, w)]
        logarithms = scores_of(*leaves).masked_fill(~allowed, -torch.inf).log_softmax(1)
        own = torch.nn.functional.kl_div(logarithms.masked_fill(~allowed, 0), target, reduction="sum")
        loss += float(own.detach())
        gradients.append(torch.autograd.grad(own, leaves))

    def statistics(values):
        """{batch, key heads, positions, heads that share one}, or without the batch."""
        shaped = [v.unflatten(0, (heads, -1)).transpose(1, 2).float() for v in values]
        return (torch.cat(shaped, 1) if layout == "TND" else torch.stack(shaped)).contiguous().to(DEVICE)

    ends = {}
    if layout == "TND":
        ends = {"actual_seq_qlen": list(torch.tensor(rows).cumsum(0)), "actual_seq_klen": list(torch.tensor(columns).cumsum(0))}
        ends = {name: [int(n) for n in numbers] for name, numbers in ends.items()}
    on_device = {
        name: gathered(t, layout).to(DEVICE) for name, t in {"q": q, "k": k, "qi": qi, "ki": ki, "w": w, "qr": qr, "kr": kr}.items()
    }
    first = [on_device[name] for name in ("q", "k", "qi", "ki", "w")]
    ropes = {"query_rope": on_device["qr"], "key_rope": on_device["kr"], "layout": layout}
    if kind == "dense":
        of_index = torch_npu.npu_dense_lightning_indexer_softmax_lse(*first[2:], layout=layout, **ends)
        got = torch_npu.npu_dense_lightning_indexer_grad_kl_loss(
            *first, statistics(maxima), statistics(sums), *of_index, 0.3, **ropes, **ends
        )
        i = 0
        values = scores_of(*(t[i].double() for t in (qi, ki, w))).masked_fill(~seen(rows[0], columns[0]), -torch.inf)
        largest = of_index[0].cpu()[0, : rows[0]] if layout == "TND" else of_index[0].cpu()[0, 0]
        total = of_index[1].cpu()[0, : rows[0]] if layout == "TND" else of_index[1].cpu()[0, 0]
        close(largest, values.amax(1))
        close(total, (values - values.amax(1, keepdim=True)).exp().sum(1), 2e-2)
    else:
        places = gathered(chosen, layout).to(DEVICE)
        extra = {} if sink is None else {"sinks": sink.to(DEVICE)}
        got = torch_npu.npu_sparse_lightning_indexer_grad_kl_loss(
            *first, places, statistics(maxima), statistics(sums), 0.3, **ropes, **extra, **ends
        )
    close(got[3], torch.tensor([loss]).double(), 2e-2)
    for i, wanted in enumerate(gradients):
        close((parts(t, c, layout)[i] for t, c in zip(got, (rows, columns, rows), strict=False)), wanted, 2e-2)
