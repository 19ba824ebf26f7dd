"""kv_cache.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, HALVES, close, on_npu, there
from definitions import rms_norm, taken_apart, turned

from direct import call, fails


@pytest.mark.parametrize("mode", ["Norm", "PA_NZ"])
def test_scatter_into_pages(mode):
    """A token without a slot goes nowhere."""
    key, value, slots = torch.randn(5, 2, 16).half(), torch.randn(5, 2, 32).half(), torch.tensor([7, 0, -1, 11, 4], dtype=torch.int32)
    caches = [torch.randn(3, 4, 2, n).half() for n in (16, 32)]
    stored = [c.flatten(2).unflatten(2, (-1, 16)).transpose(1, 2).contiguous() if mode == "PA_NZ" else c for c in caches]
    on_device = there(*stored)
    on_npu(torch_npu.npu_scatter_pa_kv_cache, key, value, *on_device, slots, cache_mode=mode)
    kept = slots >= 0
    for got, cache, rows in zip(on_device, caches, (key, value), strict=True):
        cache.flatten(0, 1)[slots[kept]] = rows[kept]
        plain = got.cpu().transpose(1, 2).flatten(2).unflatten(2, (2, -1)) if mode == "PA_NZ" else got.cpu()
        assert plain.equal(cache)


@pytest.mark.parametrize("cumulative", [False, True])
def test_gather_from_pages(cumulative):
    caches, lengths = [torch.randn(6, 4, 2, n) for n in (8, 16)], [6, 7, 2]
    table = torch.tensor([[3, 0], [5, -1], [1, 2]], dtype=torch.int32)
    seq_lens = torch.tensor([0, *torch.tensor(lengths).cumsum(0)] if cumulative else lengths, dtype=torch.int32)
    out = [torch.ones(15, 2, n, device=DEVICE) for n in (8, 16)]
    offset = torch.tensor([0, 0, 4], dtype=torch.int32, device=DEVICE)
    on_npu(torch_npu.npu_gather_pa_kv_cache, *caches, table, seq_lens, *out, seq_offset=offset, is_seq_lens_cumsum=cumulative)
    for got, cache in zip(out, caches, strict=True):
        assert got.cpu().equal(torch.cat((cache[3], cache[0, :2], cache[5], torch.zeros_like(cache[0, :3]), cache[2, :2])))


@pytest.mark.parametrize("mode", ["Norm", "PA", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ"])
@pytest.mark.parametrize("quantised", [False, True])
def test_latent_cache(quantised, mode):
    kv, gamma, cos, sin = (torch.randn(shape).half() for shape in ((2, 1, 3, 576), (512,), (2, 1, 3, 64), (2, 1, 3, 64)))
    norm, blk = mode == "Norm", "BLK" in mode
    dtype = torch.int8 if quantised else torch.half
    caches = [torch.ones((2, 1, 8, n) if norm else (4, 4, 1, n), dtype=dtype) for n in (64, 512)]
    index = {True: torch.tensor([[5, 0, 7], [2, 3, -1]]), False: torch.tensor([9, 1, 6, 15, 0, -1])}[norm]
    index = torch.tensor([8, 4]) if blk else index
    slots = torch.tensor([8, 9, 10, 4, 5, 6] if blk else [5, 0, 7, 10, 11, -1] if norm else index.tolist())
    scales = [torch.rand(n) * 20 for n in (64, 512)] if quantised else [None, None]
    on_device = there(*caches)
    _, _, k_rope, c_kv = on_npu(
        torch_npu.npu_kv_rmsnorm_rope_cache, kv, gamma, cos, sin, index, *on_device, k_rope_scale=scales[0], c_kv_scale=scales[1],
        cache_mode=mode, is_output_kv=True,
    )  # fmt: skip
    rope = turned(taken_apart(kv[..., 512:].double()), cos.double(), sin.double())
    normal = rms_norm(kv[..., :512].double(), gamma, epsilon=1e-5)
    close((k_rope, c_kv), (rope, normal))
    kept = slots >= 0
    for got, rows, scale in zip(on_device, (rope, normal), scales, strict=True):
        flat = got.view(4, -1, 4, 32 if quantised else 16).transpose(1, 2) if "NZ" in mode else got
        expected = torch.ones(16, rows.size(-1)).double()
        expected[slots[kept]] = (rows if scale is None else (rows * scale.double()).clamp(-128, 127)).view(6, -1)[kept]
        close(flat.reshape(16, -1), expected, 3e-3, 3e-3 if scale is None else 0.51)


def test_scatter_update():
    data, updates = torch.zeros(2, 3, 4, 5), torch.randn(2, 3, 2, 5)
    got = on_npu(torch_npu.scatter_update, data, torch.tensor([1, 2]), updates, -2)
    expected = data.clone()
    expected[0, :, 1:3], expected[1, :, 2:4] = updates
    assert got.cpu().equal(expected)
    got = on_npu(torch_npu.scatter_update_, data, torch.tensor([[1, 0]]), updates[:1], -2).cpu()
    assert got[1, :, :2].equal(updates[0]) and not got[0].any()


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES], ids=str)
def test_attention_update(dtype):
    lse, parts = [torch.randn(6) * 3 for _ in range(3)], [torch.randn(6, 8).to(dtype) for _ in range(3)]
    got = on_npu(torch_npu.npu_attention_update, lse, parts, 1)
    logarithms = torch.stack(lse).double()
    expected = (logarithms.softmax(0).unsqueeze(2) * torch.stack(parts).double()).sum(0)
    close(got, (expected, logarithms.logsumexp(0)))


def test_a_slot_behind_the_cache_is_found():
    key, cache = torch.randn(1, 1, 8, device=DEVICE), torch.zeros(2, 4, 1, 8, device=DEVICE)
    slot = torch.tensor([8], dtype=torch.int32, device=DEVICE)
    fails(
        "slotMapping: expected values in [0, 8), got 8 at position [0]", "aclnnScatterPaCache", key, cache, slot, None, None, None, b"Norm"
    )


def test_unsigned_words_of_a_cache_are_gathered_as_they_are():
    bits = torch.tensor([[[0]], [[-2]]], dtype=torch.int32)
    cache, out, values = bits.view(torch.uint16).view(2, 1, 2), *(torch.zeros(1, 2, dtype=torch.uint16).to(DEVICE) for _ in range(2))
    call("aclnnGatherPaKvCache", cache, cache, torch.tensor([[1]]).int(), torch.tensor([1]).int(), out, values, None, None, False)
    assert out.cpu().view(torch.int16).tolist() == [[-2, -1]]
