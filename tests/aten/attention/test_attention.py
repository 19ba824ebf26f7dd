"""attention.cpp against definitions in float64."""

import itertools

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, FLOATS, close, on_npu
from definitions import attention as heads_of
from definitions import halves
from sequences import TO_LAYOUT

from cases import booleans, randn, rows_with, table
from support.marks import of_the_950, refused_at_once

Q, K, V = randn(2, 4, 5, 8), randn(2, 4, 7, 8), randn(2, 4, 7, 8)
attention = F.scaled_dot_product_attention
attend = rows_with(dtypes=FLOATS, close=True, upcast=True, backward=True)


def some_masked(q, k, v, mask):
    """At least the first position of each row counts."""
    mask[..., 0] = True
    return attention(q, k, v, mask)


CASES = [
    *attend("strided", lambda q, k, v: attention(*(x.transpose(1, 2) for x in (q, k, v))), *[randn(2, 5, 4, 8)] * 3),
    *attend("causal", lambda q, k, v: attention(q, k, v, is_causal=True), *[randn(2, 3, 6, 4)] * 3),
    *attend("mask", some_masked, Q, K, V, booleans(2, 1, 5, 7), dtypes=(torch.float32,)),
    *attend("bias", attention, Q, K, V, randn(2, 4, 5, 7), dtypes=(torch.float32,)),
    *attend("scale", lambda q, k, v: attention(q, k, v, scale=0.3), Q, K, V, dtypes=(torch.float32,)),
    *attend("shared-heads", lambda q, k, v: attention(q, k, v, enable_gqa=True), Q, randn(2, 2, 7, 8), randn(2, 2, 7, 8)),
]
ENDS = {"actual_seq_qlen": [2, 5], "actual_seq_kvlen": [3, 7]}


@pytest.mark.parametrize(
    ("version", "layout", "rope", "sink"),
    [
        *itertools.product(("", "_v2"), ("BNSD", "TND"), (0,), (0, 1)),
        *(("", layout, 0, 0) for layout in ("BSND", "BSH", "SBH")),
        *(("_v2", "TND", 1, 0), ("_v2", "TND", 1, 1)),
        pytest.param("_v2", "BNSD", 1, 1, marks=of_the_950),
    ],
)
def test_sinks_and_ropes(version, layout, rope, sink):
    """Compare the result and all gradients of one call, in which each packed sequence attends to itself."""
    function = getattr(torch_npu, f"npu_fusion_attention{version}")
    packed = layout == "TND"
    shapes = [(5, 4, 8), (7, 2, 8), (7, 2, 6)] if packed else [(2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6)]
    shapes += [(*s[:-1], 4) for s in shapes[:2]] * rope + [(4,)] * sink
    here = [torch.randn(s).double().requires_grad_() for s in shapes]
    leaves = [x.detach().float().to(DEVICE).requires_grad_() for x in here]

    def arguments(inputs):
        q, k, v, *rest = inputs
        ropes = dict(zip(("query_rope", "key_rope"), rest, strict=False)) if rope else {}
        return (q, k, v), ropes | ({"sink": rest[-1]} if sink else {})

    tensors, options = arguments(leaves)
    laid_out = TO_LAYOUT.get(layout, lambda x: x)
    got = function(*(laid_out(x).contiguous() for x in tensors), 4, layout, scale=0.5, **options, **(ENDS if packed else {}))[0]
    (q, k, v), options = arguments(here)
    if rope:
        q, k = torch.cat((q, options["query_rope"]), -1), torch.cat((k, options["key_rope"]), -1)
    of_head = options.get("sink")
    pieces = zip(q.split((2, 3)), k.split((3, 4)), v.split((3, 4)), strict=True) if packed else []
    parts = [heads_of(*(t.transpose(0, 1) for t in piece), 0.5, sink=of_head)[0].transpose(0, 1) for piece in pieces]
    expected = torch.cat(parts) if packed else laid_out(heads_of(q, k, v, 0.5, sink=of_head)[0])
    close(got, expected)
    cotangent = torch.randn(expected.shape).double()
    gradients = torch.autograd.grad(got, leaves, cotangent.float().to(DEVICE))
    close(gradients, torch.autograd.grad(expected, here, cotangent), 1e-4)


DISTANCES = torch.arange(7) + 1 - torch.arange(5).unsqueeze(1) - 3.0
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
# The type, the shift that is given, and what it adds to the scaled scores of 5 rows and 7 columns; None is the shift itself.
SHIFTS = {
    "added": (0, torch.randn(2, 4, 5, 7), None),
    "scaled": (1, torch.randn(2, 4, 5, 7), None),
    "of all batches": (1, torch.randn(1, 4, 5, 7), None),
    "of all rows": (0, torch.randn(2, 4, 1, 7), None),
    "distances": (2, SLOPES, -SLOPES.view(4, 1, 1) * DISTANCES.abs()),
    "roots": (3, torch.stack((SLOPES, 2 * SLOPES)), -torch.stack((SLOPES, 2 * SLOPES)).view(2, 4, 1, 1) * DISTANCES.abs().sqrt()),
}


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_of_positions(name):
    """A shift that is given has a gradient as well; distances begin where q_start_idx and kv_start_idx say."""
    kind, given, added = SHIFTS[name]
    here = [torch.randn(shape).double().requires_grad_() for shape in ((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6))]
    here += [given.double().requires_grad_()] if added is None else []
    there = [x.detach().float().to(DEVICE).requires_grad_() for x in here]
    q, k, v = there[:3]
    pse = there[3] if added is None else given.to(DEVICE)
    got = torch_npu.npu_fusion_attention_v2(q, k, v, 4, "BNSD", pse=pse, scale=0.5, pse_type=kind, q_start_idx=[3], kv_start_idx=[1])[0]
    shift = added if added is not None else here[3] * (0.5 if kind == 1 else 1)
    expected = heads_of(*here[:3], 0.5, shift=shift)[0]
    close(got, expected)
    cotangent = torch.randn(expected.shape).double()
    gradients = torch.autograd.grad(got, there, cotangent.float().to(DEVICE))
    close(gradients, torch.autograd.grad(expected, here, cotangent), 1e-4)


def test_a_shift_of_the_last_rows():
    """A shift that depends on distances only is given for the last 1024 rows."""
    positions = torch.arange(1100)
    whole = SLOPES.view(1, 4, 1, 1) * -(positions - positions.unsqueeze(1)).abs()
    q, k, v = (torch.randn(1, 4, 1100, 4) for _ in range(3))
    masked = torch.ones(1100, 1100, dtype=torch.bool).triu(1)
    options = {"scale": 0.5, "atten_mask": masked.to(DEVICE), "next_tockens": 0}
    got = torch_npu.npu_fusion_attention(
        *(x.to(DEVICE) for x in (q, k, v)), 4, "BNSD", pse=whole[:, :, -1024:].contiguous().to(DEVICE), **options
    )[0]
    close(got, heads_of(q, k, v, 0.5, masked, whole * 0.5)[0])


def test_shifts_of_packed_sequences():
    q, k, v = torch.randn(5, 4, 8), torch.randn(7, 4, 8), torch.randn(7, 4, 8)
    slopes = torch.stack((SLOPES, 2 * SLOPES))
    device = [x.to(DEVICE) for x in (q, k, v, slopes)]
    got = torch_npu.npu_fusion_attention_v2(*device[:3], 4, "TND", pse=device[3], scale=0.5, pse_type=2, **ENDS)[0]
    parts = []
    for x, y, z, own in zip(q.split((2, 3)), k.split((3, 4)), v.split((3, 4)), slopes, strict=True):
        shift = -own.view(4, 1, 1) * (torch.arange(len(y)) - torch.arange(len(x)).unsqueeze(1)).abs()
        parts.append(heads_of(*(t.transpose(0, 1) for t in (x, y, z)), 0.5, shift=shift)[0].transpose(0, 1))
    close(got, torch.cat(parts))


test_torchs_functions = table(CASES)


def test_gradients_of_keys_in_two_parts():
    """Given the results of all keys, as in ring attention, each part's gradients are those of its keys, and the query's shares add up."""
    q, k, v, grad = (torch.randn(2, 4, 5, 8) for _ in range(4))
    device = [x.to(DEVICE) for x in (q, k, v, grad)]
    result, maximum, total = torch_npu.npu_fusion_attention(*device[:3], 4, "BNSD", scale=0.5)[:3]
    of_query, of_parts = [], []
    for part in (slice(0, 2), slice(2, 5)):
        keys, values = (x[:, :, part].contiguous() for x in device[1:3])
        found = torch_npu.npu_fusion_attention_grad(
            device[0], keys, values, device[3], 4, "BNSD", softmax_max=maximum, softmax_sum=total, attention_in=result, scale_value=0.5
        )
        of_query.append(found[0])
        of_parts.append(found[1:3])
    leaves = [x.double().requires_grad_() for x in (q, k, v)]
    expected = torch.autograd.grad(attention(*leaves, scale=0.5), leaves, grad.double())
    close([sum(of_query), *(torch.cat(parts, 2) for parts in zip(*of_parts, strict=True))], expected)


def test_rows_of_which_nothing_counts():
    q = torch.randn(1, 1, 3, 4)
    mask = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    torch.testing.assert_close(attention(*[q.to(DEVICE)] * 3, mask.to(DEVICE)).cpu(), attention(q, q, q, mask))


# How far positions before and behind count in each of three sequences, from the last one; None is causal from the first one.
ALL, CAUSAL, BAND = (9, 9), (9, 0), (2, 1)
MODES = {0: [ALL] * 3, 2: [None] * 3, 3: [CAUSAL] * 3, 4: [BAND] * 3, 7: [CAUSAL, CAUSAL, BAND], 8: [BAND, None, None]}


@pytest.mark.parametrize(("mode", "softmax_layout"), [*((mode, "") for mode in MODES), (3, "TND")])
def test_sequences_below_each_other(mode, softmax_layout):
    """Each sequence attends to itself only; in modes 7 and 8 ranks share a sequence, the last or the first of theirs."""
    query_lengths, key_lengths = (3, 1, 4), {2: (3, 1, 4), 8: (5, 1, 4)}.get(mode, (3, 2, 6))
    q, k, v = torch.randn(8, 4, 8), torch.randn(sum(key_lengths), 2, 8), torch.randn(sum(key_lengths), 2, 8)
    ends = [torch.tensor(lengths).cumsum(0).tolist() for lengths in (query_lengths, key_lengths)]
    triangle = torch.ones(2048, 2048, dtype=torch.bool, device=DEVICE).triu(1) if mode else None
    there = [x.to(DEVICE).requires_grad_() for x in (q, k, v)]
    got, maximum, total = torch_npu.npu_fusion_attention(
        *there, 4, "TND", scale=0.5, actual_seq_qlen=ends[0], actual_seq_kvlen=ends[1], sparse_mode=mode, atten_mask=triangle,
        softmax_layout=softmax_layout, **(dict(zip(("pre_tockens", "next_tockens"), BAND, strict=True)) if mode else {}),
    )[:3]  # fmt: skip
    assert maximum.shape == total.shape == (8, 4, 8)
    here = [x.requires_grad_() for x in (q, k, v)]
    parts = []
    pieces = (x.split(lengths) for x, lengths in zip(here, (query_lengths, key_lengths, key_lengths), strict=True))
    for x, y, z, window in zip(*pieces, MODES[mode], strict=True):
        before, behind = window or CAUSAL
        last = len(y) - len(x) if window else 0
        allowed = torch.ones(len(x), len(y), dtype=torch.bool).tril(last + behind).triu(last - before)
        heads = [t.transpose(0, 1) for t in (x, y, z)]
        parts.append(attention(*heads, allowed, scale=0.5, enable_gqa=True).transpose(0, 1))
    expected, cotangent = torch.cat(parts), torch.randn(8, 4, 8)
    close(got, expected)
    close(torch.autograd.grad(got, there, cotangent.to(DEVICE)), torch.autograd.grad(expected, here, cotangent))


def with_dropout(layout, *tensors, **lengths):
    return torch_npu.npu_fusion_attention(*tensors, 1, layout, scale=6**-0.5, keep_prob=0.6, **lengths)[0].view(400, 1, 6, 6)


MANY = [*range(6, 2401, 6)]


@pytest.mark.parametrize(
    "attend",
    [
        lambda *x: attention(*x, dropout_p=0.4),
        lambda *x: with_dropout("TND", *(one.view(2400, 1, 6) for one in x), actual_seq_qlen=MANY, actual_seq_kvlen=MANY),
        # The 950 draws what it keeps from the seed.
        pytest.param(lambda *x: with_dropout("BNSD", *x), marks=of_the_950),
    ],
)
def test_dropout(attend):
    """The mean over many draws is what no dropout gives, and the backward drops what the forward dropped."""
    # With a unit matrix as value the result is the matrix of probabilities.
    q, k, v = (x.expand(400, 1, 6, 6).contiguous() for x in (torch.randn(6, 6), torch.randn(6, 6), torch.eye(6)))
    leaf = v.to(DEVICE).requires_grad_()
    got = attend(q.to(DEVICE), k.to(DEVICE), leaf)
    probabilities = attention(q, k, v)
    assert (got.detach().cpu() == 0).float().mean().sub(0.4).abs() < 0.02
    torch.testing.assert_close(got.detach().cpu().mean(0), probabilities.mean(0), rtol=0, atol=0.06)
    got.sum().backward()
    torch.testing.assert_close(leaf.grad.cpu()[..., 0], got.detach().cpu().sum(2), rtol=1e-5, atol=1e-5)


def fusion(query, layout="BNSD", **options):
    return on_npu(torch_npu.npu_fusion_attention, query, query, query, 2, layout, **options)[0].cpu()


@pytest.mark.parametrize("mode", [2, 3])
def test_without_a_mask_a_mode_hides_nothing(mode):
    query = halves(1, 2, 4, 16)
    assert fusion(query, sparse_mode=mode).equal(fusion(query))
    assert fusion(query, next_tockens=0).equal(fusion(query))


PACKED = {"layout": "TND", "actual_seq_qlen": [2, 6], "actual_seq_kvlen": [2, 6], "sparse_mode": 1}


@refused_at_once
@pytest.mark.parametrize(("query", "options", "shape", "expected"), [
    *(((1, 2, 4, 16), {"sparse_mode": mode}, (4, 4), "the triangle of 2048 x 2048") for mode in (2, 3)),
    *(((6, 2, 16), PACKED, shape, "2 dimensions of at least 4 and 4") for shape in ((3, 4), (2, 4, 4))),
])  # fmt: skip
def test_a_mask_of_another_shape_is_refused(query, options, shape, expected):
    with pytest.raises(RuntimeError, match=f"attenMask: expected {expected}"):
        fusion(halves(*query), atten_mask=torch.zeros(shape, dtype=torch.bool), **options)
