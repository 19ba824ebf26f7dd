"""mla_prolog.cpp against definitions in float64."""

import itertools

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, close, on_npu, there
from definitions import taken_apart, turned

from direct import call


@pytest.mark.parametrize(("version", "mode"), [*itertools.product((1, 2, 3), ("PA_BSND", "PA_NZ")), (3, "TND"), (3, "BSND")])
def test_what_comes_before_a_latent_attention(version, mode):
    tokens, heads, d, rope, latent = (5,) if mode == "TND" else (2, 3), 2, 4, 16, 16
    shapes = [(*tokens, 8), (8, 6), (6, heads * (d + rope)), (heads, d, latent), (8, latent + rope), (6,), (latent,)]
    inputs = [torch.randn(shape).bfloat16() / 2 for shape in (*shapes, (*tokens, rope), (*tokens, rope))]
    x, down, up, up_key, of_cache, gamma, cache_gamma, sin, cos = (t.double() for t in inputs)
    scales = (1.5, 0.5) if version == 3 else (1.0, 1.0)
    few = F.rms_norm(x @ down, (6,), gamma, 1e-5) * scales[0]
    wide = (few @ up).unflatten(-1, (heads, d + rope))
    query = torch.einsum("...nd,ndh->...nh", wide[..., :d], up_key)
    turned_query = turned(taken_apart(wide[..., d:]), cos.unsqueeze(-2), sin.unsqueeze(-2))
    keys = x @ of_cache
    rows = [F.rms_norm(keys[..., :latent], (latent,), cache_gamma, 1e-5) * scales[1], turned(taken_apart(keys[..., latent:]), cos, sin)]
    paged = mode.startswith("PA")
    caches = [torch.full((3, 4, 1, n) if paged else (*tokens, 1, n), 9).bfloat16() for n in (latent, rope)]
    cached, slots = there(*caches), torch.tensor([[7, 0, 11], [3, 4, 1]])
    if version == 1:
        got = [torch.empty(one.shape, dtype=torch.bfloat16, device=DEVICE) for one in (query, turned_query)]
        call("aclnnMlaProlog", *inputs, slots, *cached, *[None] * 7, 1e-5, 1e-5, mode.encode(), *got)
    elif version == 2:
        got = on_npu(torch_npu.npu_mla_prolog_v2, *inputs, slots, *cached, cache_mode=mode)
    else:
        options = {"cache_index": slots if paged else None, "query_norm_flag": True, "qc_qr_scale": 1.5, "kc_scale": 0.5}
        got = on_npu(torch_npu.npu_mla_prolog_v3, *inputs, *cached, cache_mode=mode, **options)
        close(got[3], few, 2e-2)
    close(got[:2], (query, turned_query), 3e-2)
    for cache, before, own in zip(cached, caches, rows, strict=True):
        if not paged:
            close(cache.squeeze(-2), own, 3e-2)
            continue
        expected = before.double()
        if mode == "PA_NZ":
            expected = expected.view(3, -1, 4, 16).transpose(1, 2)  # blocks, positions, parts of 16 features
        expected[slots // 4, slots % 4] = own.reshape(2, 3, *expected.shape[2:])
        plain = cache.view(3, -1, 4, 16).transpose(1, 2) if mode == "PA_NZ" else cache
        close(plain, expected, 3e-2)
