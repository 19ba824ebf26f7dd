"""indexer_loss.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, close
from definitions import attention_of_rows as attention
from definitions import exponentials, halves
from sequences import KEYS, QUERIES, allowed_by, gathered, parts, scores_of, seen


@pytest.mark.parametrize("layout", ["BSND", "TND"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "sinks"])
def test_loss_of_the_scores(layout, kind):
    """The loss's target is the mean over heads of an attention's weight of each key."""
    rows, columns = ((3, 3), (5, 5)) if layout == "BSND" else (QUERIES, KEYS)
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
    of_sequences, loss, gradients = [], 0.0, []
    for i, (m, n) in enumerate(zip(rows, columns, strict=True)):
        whole = [torch.cat(pair, -1).double() for pair in ((q[i], qr[i]), (k[i], kr[i]))]
        allowed = seen(m, n) if kind == "dense" else seen(m, n) & allowed_by(chosen[i], 1, n)[0]
        _, weights, full = attention(*whole, whole[1], allowed, 0.3, sink)
        of_sequences.append(exponentials(full))
        target = weights[..., :n].sum(0)
        target = target / target.sum(1, keepdim=True)
        leaves = [t[i].double().requires_grad_() for t in (qi, ki, w)]
        logarithms = scores_of(*leaves).masked_fill(~allowed, -torch.inf).log_softmax(1)
        own = torch.nn.functional.kl_div(logarithms.masked_fill(~allowed, 0), target, reduction="sum")
        loss += float(own.detach())
        gradients.append(torch.autograd.grad(own, leaves))

    def statistics(values):
        """Return statistics as {batch, key heads, positions, heads that share one}, or without the batch."""
        shaped = [v.unflatten(0, (heads, -1)).transpose(1, 2).float() for v in values]
        return (torch.cat(shaped, 1) if layout == "TND" else torch.stack(shaped)).contiguous().to(DEVICE)

    ends = {}
    if layout == "TND":
        ends = {"actual_seq_qlen": torch.tensor(rows).cumsum(0).tolist(), "actual_seq_klen": torch.tensor(columns).cumsum(0).tolist()}
    *first, query_rope, key_rope = (gathered(t, layout).to(DEVICE) for t in (q, k, qi, ki, w, qr, kr))
    ropes = {"query_rope": query_rope, "key_rope": key_rope, "layout": layout, "pre_tokens": 1 << 16, "next_tokens": 1 << 16}
    of_attention = map(statistics, zip(*of_sequences, strict=True))
    if kind == "dense":
        of_index = torch_npu.npu_dense_lightning_indexer_softmax_lse(*first[2:], layout=layout, **ends)
        got = torch_npu.npu_dense_lightning_indexer_grad_kl_loss(*first, *of_attention, *of_index, 0.3, **ropes, **ends)
        values = scores_of(*(t[0].double() for t in (qi, ki, w))).masked_fill(~seen(rows[0], columns[0]), -torch.inf)
        first_rows = [t[0, : rows[0]] if layout == "TND" else t[0, 0] for t in of_index]
        largest, total = exponentials(values)
        close(first_rows[0], largest)
        close(first_rows[1], total, 2e-2)
    else:
        places = gathered(chosen, layout).to(DEVICE)
        extra = {} if sink is None else {"sinks": sink.to(DEVICE)}
        got = torch_npu.npu_sparse_lightning_indexer_grad_kl_loss(*first, places, *of_attention, 0.3, **ropes, **extra, **ends)
    close(got[3], torch.tensor([loss]).double(), 2e-2)
    for i, wanted in enumerate(gradients):
        close((parts(t, c, layout)[i] for t, c in zip(got, (rows, columns, rows), strict=False)), wanted, 2e-2)
