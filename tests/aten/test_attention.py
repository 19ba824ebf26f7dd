"""attention.cpp: scaled_dot_product_attention, npu_fusion_attention, and the modules on them."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

from cases import DEVICE, FLOATS, booleans, randn, rows, table
from direct import call
from support.marks import refused_at_once

Q, K, V = randn(2, 4, 5, 8), randn(2, 4, 7, 8), randn(2, 4, 7, 8)
attention = F.scaled_dot_product_attention


def attend(name, function, *inputs, **options):
    return rows(name, function, *inputs, **{"dtypes": FLOATS, "close": True, "upcast": True, "backward": True} | options)


def some_masked(q, k, v, mask):
    """At least the first position of each row counts."""
    mask[..., 0] = True
    return attention(q, k, v, mask)


CASES = [
    *attend("plain", attention, Q, K, V),
    *attend("strided", lambda q, k, v: attention(*(x.transpose(1, 2) for x in (q, k, v))), *[randn(2, 5, 4, 8)] * 3),
    *attend("causal", lambda q, k, v: attention(q, k, v, is_causal=True), *[randn(2, 3, 6, 4)] * 3),
    *attend("causal-oblong", lambda q, k, v: attention(q, k, v, is_causal=True), Q, K, V, dtypes=(torch.float32,)),
    *attend("mask", some_masked, Q, K, V, booleans(5, 7)),
    *attend("mask-batch", some_masked, Q, K, V, booleans(2, 1, 5, 7), dtypes=(torch.float32,)),
    *attend("bias", attention, Q, K, V, randn(2, 4, 5, 7), dtypes=(torch.float32,)),
    *attend("scale", lambda q, k, v: attention(q, k, v, scale=0.3), Q, K, V, dtypes=(torch.float32,)),
    *attend("3d", attention, randn(4, 5, 8), randn(4, 7, 8), randn(4, 7, 8), dtypes=(torch.float32,)),
    *attend("shared-heads", lambda q, k, v: attention(q, k, v, enable_gqa=True), Q, randn(2, 2, 7, 8), randn(2, 2, 7, 8)),
]


@table(CASES)
def test_attention(case):
    case.check()


def test_rows_of_which_nothing_counts():
    q = torch.randn(1, 1, 3, 4)
    mask = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    torch.testing.assert_close(attention(*[q.to(DEVICE)] * 3, mask.to(DEVICE)).cpu(), attention(q, q, q, mask))


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
def test_layouts(layout):
    to_layout = {
        "BNSD": lambda x: x,
        "BSND": lambda x: x.transpose(1, 2),
        "BSH": lambda x: x.transpose(1, 2).flatten(2),
        "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2),
    }[layout]
    q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 8)
    leaves = [to_layout(x).contiguous().to(DEVICE).requires_grad_() for x in (q, k, v)]
    got = torch_npu.npu_fusion_attention(*leaves, 4, layout, scale=0.5)[0]
    here = [x.clone().requires_grad_() for x in (q, k, v)]
    expected = attention(*here, scale=0.5)
    torch.testing.assert_close(got.detach().cpu(), to_layout(expected.detach()))
    got.sum().backward()
    expected.sum().backward()
    for leaf, want in zip(leaves, here, strict=True):
        torch.testing.assert_close(leaf.grad.cpu(), to_layout(want.grad))


@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_the_second_version(layout):
    """Of which the sequences below each other have 2 and 3 positions."""
    packed, shape = layout == "TND", (1, 2, 5, 8)
    inputs = [torch.randn(shape) for _ in range(3)]
    leaves = [(x[0].transpose(0, 1).contiguous() if packed else x).to(DEVICE).requires_grad_() for x in inputs]
    ends = {"actual_seq_qlen": [2, 5], "actual_seq_kvlen": [2, 5]} if packed else {}
    got = torch_npu.npu_fusion_attention_v2(*leaves, 2, layout, scale=0.5, **ends)[0]
    here = [x.double().requires_grad_() for x in inputs]
    pieces = zip(*(x.split((2, 3) if packed else 5, 2) for x in here), strict=True)
    expected = torch.cat([attention(*piece, scale=0.5) for piece in pieces], 2)
    plain = (lambda x: x.transpose(0, 1).unsqueeze(0)) if packed else (lambda x: x)
    torch.testing.assert_close(plain(got.detach().cpu()).double(), expected.detach(), rtol=1e-5, atol=1e-5)
    cotangent = torch.randn(shape)
    gradients = torch.autograd.grad(got, leaves, (cotangent[0].transpose(0, 1) if packed else cotangent).to(DEVICE))
    for have, want in zip(gradients, torch.autograd.grad(expected, here, cotangent.double()), strict=True):
        torch.testing.assert_close(plain(have.cpu()).double(), want, rtol=1e-5, atol=1e-5)


# Of each of three sequences the farthest position before and behind that counts, from the last one; None is causal from the first one.
ALL, CAUSAL, BAND = (9, 9), (9, 0), (2, 1)
MODES = {0: [ALL] * 3, 2: [None] * 3, 3: [CAUSAL] * 3, 4: [BAND] * 3, 7: [CAUSAL, CAUSAL, BAND], 8: [BAND, None, None]}


@pytest.mark.parametrize(("mode", "softmax_layout"), [*((mode, "") for mode in MODES), (3, "TND")])
def test_sequences_below_each_other(mode, softmax_layout):
    """Each attends to itself only; modes 7 and 8 are of ranks that share a sequence, the last or the first of theirs."""
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
    torch.testing.assert_close(got.detach().cpu(), expected.detach())
    gradients = torch.autograd.grad(got, there, cotangent.to(DEVICE))
    for have, want in zip(gradients, torch.autograd.grad(expected, here, cotangent), strict=True):
        torch.testing.assert_close(have.cpu(), want)


@refused_at_once
@pytest.mark.parametrize(
    ("ends", "name"), [(([2, 5], [2, 6]), "actualSeqQLen"), (([2, 6], [2, 7]), "actualSeqKvLen"), (([7, 6], [2, 6]), "QLen")]
)
def test_sequences_that_do_not_cover_all_tokens_are_refused(ends, name):
    q = torch.randn(6, 1, 4, device=DEVICE)
    with pytest.raises(RuntimeError, match=f"{name}: expected rising numbers that end with 6"):
        torch_npu.npu_fusion_attention(q, q, q, 1, "TND", actual_seq_qlen=ends[0], actual_seq_kvlen=ends[1])
        torch.npu.synchronize()


def test_the_backward_of_sequences_drops_what_the_forward_dropped():
    # With a unit matrix as each sequence's value, the result is the matrix of probabilities.
    q, k, v = torch.randn(12, 1, 6), torch.randn(12, 1, 6), torch.eye(6).repeat(2, 1).unsqueeze(1)
    leaf = v.to(DEVICE).requires_grad_()
    lengths = {"actual_seq_qlen": [6, 12], "actual_seq_kvlen": [6, 12]}
    got = torch_npu.npu_fusion_attention(q.to(DEVICE), k.to(DEVICE), leaf, 1, "TND", keep_prob=0.5, **lengths)[0]
    kept = (got.detach().cpu() != 0).reshape(2, 6, 6)
    assert 0 < kept.sum() < kept.numel() and not kept[0].equal(kept[1])
    got.sum().backward()
    columns = got.detach().cpu().reshape(2, 6, 6).sum(1).reshape(12, 1, 1)
    torch.testing.assert_close(leaf.grad.cpu(), columns.expand(12, 1, 6))


def test_dropout():
    """The mean over many draws is what no dropout gives, and the backward drops what the forward dropped."""
    # With a unit matrix as value the result is the matrix of probabilities.
    q, k, v = (x.expand(400, 1, 6, 6).contiguous() for x in (torch.randn(6, 6), torch.randn(6, 6), torch.eye(6)))
    leaf = v.to(DEVICE).requires_grad_()
    got = attention(q.to(DEVICE), k.to(DEVICE), leaf, dropout_p=0.4)
    probabilities = attention(q, k, v)
    assert (got.detach().cpu() == 0).float().mean().sub(0.4).abs() < 0.02
    torch.testing.assert_close(got.detach().cpu().mean(0), probabilities.mean(0), rtol=0, atol=0.06)
    got.sum().backward()
    torch.testing.assert_close(leaf.grad.cpu()[..., 0], got.detach().cpu().sum(2), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.nn.MultiheadAttention(8, 2, batch_first=True),
        lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True, activation="gelu"),
    ],
    ids=["multihead", "encoder", "encoder-gelu"],
)
def test_modules(make):
    here, x = make(), torch.randn(3, 5, 8)
    there = make().to(DEVICE)
    there.load_state_dict(here.state_dict())
    results = []
    for module, inputs in ((here, x), (there, x.to(DEVICE))):
        y = module(inputs, inputs, inputs, need_weights=False)[0] if isinstance(module, torch.nn.MultiheadAttention) else module(inputs)
        y.square().sum().backward()
        results.append([y.detach().cpu(), *(p.grad.cpu() for p in module.parameters())])
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["SBH", "TND"])
@pytest.mark.parametrize("version", ["", "V2"])
def test_attention_of_keys_in_two_parts(version, layout):
    """The results of both parts become that of all keys."""
    generator = torch.Generator().manual_seed(7)
    scores, values = (torch.randn(2, 3, n, m, dtype=torch.float64, generator=generator) for n, m in ((4, 10), (10, 8)))

    def part(keys):
        of_part = scores[..., keys]
        largest = of_part.amax(-1, keepdim=True)
        powers = torch.exp(of_part - largest)
        total = powers.sum(-1, keepdim=True)
        return powers / total @ values[..., keys, :], largest, total

    def laid_out(attention, *statistics):
        # Of batches of heads: positions, batches and heads with their features; or all positions of both batches, and heads.
        wide = [s.expand(-1, -1, -1, 8) for s in statistics]
        if layout == "SBH":
            shaped = [attention.permute(2, 0, 1, 3).flatten(2), *wide]
        else:
            shaped = [t.transpose(1, 2).flatten(0, 1) for t in (attention, *wide)]
        return [t.float().contiguous().to(DEVICE) for t in shaped]

    expected = laid_out(*part(slice(None)))
    got = [torch.empty_like(t) for t in expected]
    ends = torch.tensor([4, 8], device=DEVICE) if layout == "TND" else None
    layouts = [layout.encode(), *([b""] if version else [])]
    call(f"aclnnRingAttentionUpdate{version}", *laid_out(*part(slice(4))), *laid_out(*part(slice(4, 10))), ends, *layouts, *got)
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


@refused_at_once
@pytest.mark.parametrize("shape", [(1, 1, 1, 4), (1, 2, 1, 4), (1, 4), (1, 1, 1)], ids=str)
def test_masks_that_would_be_broadcast_are_refused(shape):
    """As on an NPU; torch's own attention broadcasts them."""
    query = torch.ones(1, 2, 4, 16, dtype=torch.float16, device=DEVICE)
    with pytest.raises(RuntimeError, match="attenMask: expected"):
        torch_npu.npu_fusion_attention(query, query, query, 2, "BNSD", atten_mask=torch.zeros(shape, dtype=torch.bool, device=DEVICE))
