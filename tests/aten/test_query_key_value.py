"""query_key_value.cpp and fused_cross_entropy.cpp, in float64."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

from cases import DEVICE, close, there


def turned(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


@pytest.mark.parametrize("quantised", [False, True])
def test_queries_keys_and_values_in_a_cache(quantised):
    """Of 2 heads of queries, 1 of keys and 1 of values, with 8 features, of which a block has 4; a token without a slot goes nowhere."""
    qkv, gammas, cos, sin = torch.randn(5, 32).half(), torch.randn(2, 8).half(), torch.randn(5, 8).half(), torch.randn(5, 8).half()
    slots, scales = torch.tensor([7, -1, 0, 3, 11]), torch.rand(2, 1, 8) / 16 + 0.02
    caches = [torch.full((3, 2, 4, 4), 9).to(torch.int8 if quantised else torch.half) for _ in range(2)]
    parts = qkv.double().unflatten(1, (4, 8)).split([2, 1, 1], 1)
    normal = [
        turned(F.rms_norm(part, (8,), gamma.double(), 1e-6), cos.double().unsqueeze(1), sin.double().unsqueeze(1))
        for part, gamma in zip(parts[:2], gammas, strict=True)
    ]
    on_device, out = there(qkv, *gammas, cos, sin, slots), torch.empty(5, 16, dtype=torch.half, device=DEVICE)
    cached = there(*caches)
    options = {"k_scale": scales[0].to(DEVICE), "v_scale": scales[1].to(DEVICE)} if quantised else {}
    plain = torch_npu.npu_qkv_rms_norm_rope_cache(*on_device, out, *cached, [5, 1, 4, 8], [2, 1, 1], **options, is_output_qkv=True)
    close(out, normal[0].flatten(1))
    for have, want in zip(plain, (*normal, parts[2]), strict=True):
        close(have, want.flatten(1))
    for cache, before, rows, scale in zip(cached, caches, (normal[1], parts[2]), scales, strict=True):
        expected = before.double()
        for row, slot in zip(rows / scale.double() if quantised else rows, slots.tolist(), strict=True):
            if slot >= 0:
                expected[slot // 4, :, slot % 4] = row.reshape(2, 4).round().clamp(-128, 127) if quantised else row.reshape(2, 4)
        close(cache, expected, 1.01 if quantised else 5e-3)


@pytest.mark.parametrize("mode", ["contiguous", "page"])
def test_turned_keys_in_a_cache_of_bytes(mode):
    x, cos, sin = torch.randn(2, 3, 32).half(), torch.randn(2, 3, 1, 8).half(), torch.randn(2, 3, 1, 8).half()
    scales, offsets, caches = torch.rand(2, 8) * 20, torch.randn(2, 8), [torch.full((2, 6, 1, 8), 9, dtype=torch.int8) for _ in range(2)]
    indices = torch.tensor([2, 1] if mode == "contiguous" else [7, -1, 0, 3, 11, 5], dtype=torch.int32)
    on_device, cached = there(x, cos, sin), there(*caches)
    got = torch_npu.npu_rope_quant_kvcache(
        *on_device, *cached, indices.to(DEVICE), *there(*scales), [16, 8, 8], offset_k=offsets[0].to(DEVICE),
        offset_v=offsets[1].to(DEVICE), kv_output=True, cache_mode=mode,
    )  # fmt: skip
    q, k, v = (part.unflatten(2, (-1, 8)) for part in x.double().split([16, 8, 8], 2))
    q, k = (turned(part, cos.double(), sin.double()) for part in (q, k))
    for have, want in zip(got, (q, k, v), strict=False):
        close(have, want)
    for cache, before, rows, scale, offset in zip(cached, caches, (k, v), scales, offsets, strict=True):
        expected = before.double()
        numbers = (rows * scale.double() + offset.double()).round().clamp(-128, 127)
        if mode == "contiguous":
            for i, first in enumerate(indices.tolist()):
                expected[i, first : first + 3] = numbers[i]
        else:
            for row, slot in zip(numbers.flatten(0, 1), indices.tolist(), strict=True):
                if slot >= 0:
                    expected[slot // 6, slot % 6] = row
        close(cache, expected, 1.01)


@pytest.mark.parametrize("both", [True, False])
def test_products_of_low_rank(both):
    """In place; each token has weights of its own, for features from 2 on."""
    y, indices = torch.randn(4, 10).half(), torch.tensor([2, 0, 1, 2], dtype=torch.int32)
    first, second = torch.randn(3, 2, 3, 6).half(), torch.randn(3, 2, 5, 3).half()
    x = torch.randn(4, 6 if both else 3).half()
    expected = y.double()
    for i, which in enumerate(indices.tolist()):
        low = first[which, 1].double() @ x[i].double() if both else x[i].double()
        expected[i, 2:7] += 0.5 * second[which, 1].double() @ low
    on_device = there(y, x, second, indices, first if both else None)
    got = torch_npu.npu_batch_gather_matmul_(*on_device, layer_idx=1, scale=0.5, y_offset=2, y_slice_size=5)
    close(got, expected, 2e-2)


@pytest.mark.parametrize("whole", [True, False])
def test_a_loss_whose_classes_are_spread(whole):
    """Over two ranks: what each computes, what they compare, and the gradients, which are those of the whole."""
    x, weight, target = torch.randn(11, 6).half(), torch.randn(300, 6).half(), torch.randint(300, (11,))
    leaves = [t.double().requires_grad_() for t in (x, weight)]
    logits = leaves[0] @ leaves[1].t()
    expected, grad = F.cross_entropy(logits, target, reduction="none"), torch.rand(11)
    wanted = torch.autograd.grad(expected, leaves, grad.double())
    parts = []
    for rank in range(2):
        first = 150 * rank
        on_device = there(x, weight[first : first + 150], target)
        parts.append(torch_npu.npu_fused_linear_online_max_sum(*on_device, first, first + 149, whole))
        own = logits[:, first : first + 150].detach()
        close(parts[-1][0], own.amax(1))
        close(parts[-1][1], (own - own.amax(1, keepdim=True)).exp().sum(1))
        missing = (target < first) | (target >= first + 150)
        bits = [int(b) for byte in parts[-1][3].tolist() for b in f"{byte:08b}"]
        assert bits == [*missing.int().tolist(), 1, 1, 1, 1, 1]
        assert parts[-1][4].tolist() == (target - first).masked_fill(missing, 0).tolist()
    largest = torch.maximum(parts[0][0], parts[1][0])
    total = sum(part[1] * torch.exp(part[0] - largest) for part in parts)
    # What a rank has of the targets' logits is below its own largest.
    present = [torch.tensor([not int(b) for byte in part[3].tolist() for b in f"{byte:08b}"][:11], device=DEVICE) for part in parts]
    predicted = sum((part[2] + part[0] - largest) * has for part, has in zip(parts, present, strict=True))
    of_x = torch.zeros(11, 6).double()
    for rank, part in enumerate(parts):
        mine = weight[150 * rank : 150 * rank + 150]
        loss, softmax = torch_npu.npu_fused_cross_entropy_loss_with_max_sum(
            largest, total, predicted, vocab_parallel_logits=part[5] if whole else None
        )
        close(loss, expected)
        options = {"softmax": softmax} if whole else {"logits_max": largest, "sum_exp_logits": total}
        got = torch_npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward(*there(grad, x, mine), part[3], part[4], **options)
        of_x += got[0].double().cpu()
        close(got[1], wanted[1][150 * rank : 150 * rank + 150], 1e-2)
    close(of_x, wanted[0], 2e-2)


def pairs_turned(x, cos, sin):
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.cat((even, odd), -1) * cos + torch.cat((-odd, even), -1) * sin


@pytest.mark.parametrize(("version", "mode"), [(2, "PA_BSND"), (2, "PA_NZ"), (3, "PA_BSND"), (3, "PA_NZ"), (3, "TND"), (3, "BSND")])
def test_what_comes_before_a_latent_attention(version, mode):
    """Of 2 heads with 4 features and 4 of rope, by way of 6 features; the caches have 16 features and 16 of rope."""
    tokens, heads, d, rope, latent = (5,) if mode == "TND" else (2, 3), 2, 4, 16, 16
    shapes = [(*tokens, 8), (8, 6), (6, heads * (d + rope)), (heads, d, latent), (8, latent + rope), (6,), (latent,)]
    inputs = [torch.randn(shape).bfloat16() / 2 for shape in (*shapes, (*tokens, rope), (*tokens, rope))]
    x, down, up, up_key, of_cache, gamma, cache_gamma, sin, cos = (t.double() for t in inputs)
    scales = (1.5, 0.5) if version == 3 else (1.0, 1.0)
    few = F.rms_norm(x @ down, (6,), gamma, 1e-5) * scales[0]
    wide = (few @ up).unflatten(-1, (heads, d + rope))
    query = torch.einsum("...nd,ndh->...nh", wide[..., :d], up_key)
    turned_query = pairs_turned(wide[..., d:], cos.unsqueeze(-2), sin.unsqueeze(-2))
    keys = x @ of_cache
    rows = [F.rms_norm(keys[..., :latent], (latent,), cache_gamma, 1e-5) * scales[1], pairs_turned(keys[..., latent:], cos, sin)]
    paged = mode.startswith("PA")
    caches = [torch.full((3, 4, 1, n) if paged else (*tokens, 1, n), 9).bfloat16() for n in (latent, rope)]
    cached, slots = there(*caches), torch.tensor([[7, 0, 11], [3, 4, 1]], device=DEVICE)
    on_device = there(*inputs)
    if version == 2:
        got = torch_npu.npu_mla_prolog_v2(*on_device, slots, *cached, cache_mode=mode)
    else:
        got = torch_npu.npu_mla_prolog_v3(
            *on_device, *cached, cache_index=slots if paged else None, cache_mode=mode, query_norm_flag=True, qc_qr_scale=1.5, kc_scale=0.5
        )
        close(got[3], few, 2e-2)
    close(got[0], query, 3e-2)
    close(got[1], turned_query, 3e-2)
    for cache, before, own in zip(cached, caches, rows, strict=True):
        if not paged:
            close(cache.squeeze(-2), own, 3e-2)
            continue
        expected = before.double()
        if mode == "PA_NZ":
            expected = expected.view(3, -1, 4, 16).transpose(1, 2)  # blocks, positions, parts of 16 features
        for slot, row in zip(slots.flatten().tolist(), own.flatten(0, -2), strict=True):
            expected[slot // 4, slot % 4] = row.reshape(expected.shape[2:])
        plain = cache.view(3, -1, 4, 16).transpose(1, 2) if mode == "PA_NZ" else cache
        close(plain, expected, 3e-2)
