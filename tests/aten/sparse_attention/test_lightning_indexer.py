"""lightning_indexer.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, close
from definitions import halves
from sequences import KEYS, LAYOUTS, QUERIES, asked, choices, gathered, lengths, parts, scores_of, seen


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("mode", [0, 3])
def test_choice_of_keys(layout, quantised, mode):
    count, w = 6, [halves(n, 8) for n in QUERIES]
    query_layout, options = asked(layout, "actual_seq_lengths_key", "layout_key")
    if quantised:
        q, k = ([torch.randint(-128, 128, (n, h, 16), dtype=torch.int8) for n in counts] for counts, h in ((QUERIES, 8), (KEYS, 1)))
        qs, ks = ([(torch.rand(n, h) / 64).half() for n in counts] for counts, h in ((QUERIES, 8), (KEYS, 1)))
        scaled = [[(x.double() * s.double().unsqueeze(2)) for x, s in zip(*pair, strict=True)] for pair in ((q, qs), (k, ks))]
        scales = (qs, query_layout), (ks, layout)
    else:
        q, k = ([halves(n, h, 16) for n in counts] for counts, h in ((QUERIES, 8), (KEYS, 1)))
        scaled, scales = [[x.double() for x in t] for t in (q, k)], ()
    tensors = [gathered(t, of).to(DEVICE) for t, of in ((q, query_layout), (k, layout), (w, query_layout), *scales)]
    options |= {"sparse_count": count, "sparse_mode": mode}
    if quantised:
        got = torch_npu.npu_quant_lightning_indexer(*tensors, 0, 0, **options)
    else:
        got, values = torch_npu.npu_lightning_indexer(*tensors, return_value=layout != "PA_BSND", **options)
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
