"""query_key_value.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, close, on_npu, there
from definitions import rms_norm, turned


@pytest.mark.parametrize("quantised", [False, True])
def test_queries_keys_and_values_in_a_cache(quantised):
    qkv, gammas, cos, sin = torch.randn(5, 32).half(), torch.randn(2, 8).half(), torch.randn(5, 8).half(), torch.randn(5, 8).half()
    slots, scales = torch.tensor([7, -1, 0, 3, 11]), torch.rand(2, 1, 8) / 16 + 0.02
    caches = [torch.full((3, 2, 4, 4), 9).to(torch.int8 if quantised else torch.half) for _ in range(2)]
    parts = qkv.double().unflatten(1, (4, 8)).split([2, 1, 1], 1)
    angles = cos.double().unsqueeze(1), sin.double().unsqueeze(1)
    normal = [turned(rms_norm(part, gamma), *angles) for part, gamma in zip(parts[:2], gammas, strict=True)]
    on_device, out = there(qkv, *gammas, cos, sin, slots), torch.empty(5, 16, dtype=torch.half, device=DEVICE)
    cached = there(*caches)
    options = {"k_scale": scales[0].to(DEVICE), "v_scale": scales[1].to(DEVICE)} if quantised else {}
    plain = torch_npu.npu_qkv_rms_norm_rope_cache(*on_device, out, *cached, [5, 1, 4, 8], [2, 1, 1], **options, is_output_qkv=True)
    close(out, normal[0].flatten(1))
    for have, want in zip(plain, (*normal, parts[2]), strict=True):
        close(have, want.flatten(1))
    kept = slots >= 0
    for cache, before, rows, scale in zip(cached, caches, (normal[1], parts[2]), scales, strict=True):
        expected, numbers = before.double(), (rows / scale.double()).round().clamp(-128, 127) if quantised else rows
        expected[slots[kept] // 4, :, slots[kept] % 4] = numbers[kept].view(-1, 2, 4)
        close(cache, expected, 1.01 if quantised else 5e-3)


@pytest.mark.parametrize("mode", ["contiguous", "page"])
def test_turned_keys_in_a_cache_of_bytes(mode):
    x, cos, sin = torch.randn(2, 3, 32).half(), torch.randn(2, 3, 1, 8).half(), torch.randn(2, 3, 1, 8).half()
    scales, offsets, caches = torch.rand(2, 8) * 20, torch.randn(2, 8), [torch.full((2, 6, 1, 8), 9, dtype=torch.int8) for _ in range(2)]
    slots = torch.tensor([2, 3, 4, 7, 8, 9] if mode == "contiguous" else [7, -1, 0, 3, 11, 5])
    indices = torch.tensor([2, 1] if mode == "contiguous" else slots.tolist(), dtype=torch.int32)
    cached = there(*caches)
    got = on_npu(
        torch_npu.npu_rope_quant_kvcache, x, cos, sin, *cached, indices, *scales, [16, 8, 8], offset_k=offsets[0], offset_v=offsets[1],
        kv_output=True, cache_mode=mode,
    )  # fmt: skip
    q, k, v = (part.unflatten(2, (-1, 8)) for part in x.double().split([16, 8, 8], 2))
    q, k = (turned(part, cos.double(), sin.double()) for part in (q, k))
    for have, want in zip(got, (q, k, v), strict=False):
        close(have, want)
    for cache, before, rows, scale, offset in zip(cached, caches, (k, v), scales, offsets, strict=True):
        expected = before.double()
        numbers = (rows * scale.double() + offset.double()).round().clamp(-128, 127)
        expected.flatten(0, 1)[slots[slots >= 0]] = numbers.flatten(0, 1)[slots >= 0]
        close(cache, expected, 1.01)


@pytest.mark.parametrize("both", [True, False])
def test_products_of_low_rank(both):
    """The operator works in place; each token has its own weights, for features from 2 on."""
    y, indices = torch.randn(4, 10).half(), torch.tensor([2, 0, 1, 2], dtype=torch.int32)
    first, second = torch.randn(3, 2, 3, 6).half(), torch.randn(3, 2, 5, 3).half()
    x = torch.randn(4, 6 if both else 3).half()
    expected = y.double()
    for i, which in enumerate(indices.tolist()):
        low = first[which, 1].double() @ x[i].double() if both else x[i].double()
        expected[i, 2:7] += 0.5 * second[which, 1].double() @ low
    options = {"layer_idx": 1, "scale": 0.5, "y_offset": 2, "y_slice_size": 5}
    close(on_npu(torch_npu.npu_batch_gather_matmul_, y, x, second, indices, first if both else None, **options), expected, 2e-2)
