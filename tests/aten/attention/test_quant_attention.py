"""quant_attention.cpp against definitions in float64."""

import math

import pytest
import torch
import torch_npu
from checks import DEVICE, close, on_npu

from direct import call, refuses
from support.marks import of_the_950

pytestmark = of_the_950


def attention_inputs(layout, heads, key_heads, kind=torch.float8_e4m3fn):
    """Query, key, value and gradient of eight bits as BNSD in float64 with their scales applied, and both of them on the device."""
    sizes, blocks = [(2, heads, 300, 8), (2, key_heads, 260, 8), (2, key_heads, 260, 8), (2, heads, 300, 8)], (128, 256, 512, 128)
    exact, there, scales = [], [], []
    for size, block in zip(sizes, blocks, strict=True):
        x, scale = torch.randn(size).to(kind), torch.rand(*size[:2], math.ceil(size[2] / block), 1) + 0.5
        exact.append(x.double() * scale.double().repeat_interleave(block, 2)[:, :, : size[2]])
        there.append((x if layout == "BNSD" else x.transpose(1, 2).contiguous()).to(DEVICE))
        scales.append(scale.to(DEVICE))
    for i in (1, 2):
        exact[i] = exact[i].repeat_interleave(heads // key_heads, 1)
    return exact, there, scales


def eight_bits(x, factor):
    return (x * factor).to(torch.float8_e4m3fn).double() / factor


@pytest.mark.parametrize(("layout", "key_heads", "factor"), [("BNSD", 4, None), ("BSND", 2, 16.0)])
def test_attention_of_eight_bits_and_its_gradients(layout, key_heads, factor):
    (query, key, value, grad), there, scales = attention_inputs(layout, 4, key_heads)
    scores = query @ key.mT * 0.125
    powers_of_e = torch.exp(scores - scores.amax(-1, keepdim=True))
    rounded = eight_bits(powers_of_e, factor or 1)
    expected = rounded @ value / rounded.sum(-1, keepdim=True)
    p_scale = None if factor is None else torch.tensor([factor], device=DEVICE)
    options = {"p_scale": p_scale, "query_dtype": torch_npu.float8_e4m3fn}
    names = ("d_scale_q", "d_scale_k", "d_scale_v")
    out, maximum, total, *_ = torch_npu.npu_quant_fusion_attention(
        *there[:3], 4, layout, scale=0.125, **options, **dict(zip(names, scales[:3], strict=True))
    )

    def plain(x):
        return x if layout == "BNSD" else x.transpose(1, 2)

    close(plain(out), expected, 8e-3)
    close(maximum, scores.amax(-1, keepdim=True))
    close(total, rounded.sum(-1, keepdim=True), 1e-3)

    # The statistics are not those of the forward, so that the gradient is right only if it uses those that it is given.
    sums = powers_of_e.sum(-1, keepdim=True) * 1.25
    probabilities = powers_of_e / sums
    attended = torch.randn(2, 4, 300, 8).bfloat16()
    of_scores = (grad @ value.mT - (attended.double() * grad).sum(-1, keepdim=True)) * probabilities
    of_scores = eight_bits(of_scores, 3.5) * 0.125
    ds_scale = torch.tensor([3.5], device=DEVICE)
    got = on_npu(
        torch_npu.npu_quant_fusion_attention_backward, *there, 4, layout, *scales, ds_scale=ds_scale, softmax_max=maximum,
        softmax_sum=sums.float(), attention_in=plain(attended).contiguous(), scale_value=0.125, **options,
    )  # fmt: skip
    of_values = eight_bits(probabilities, factor or 1).mT @ grad
    wanted = (of_scores @ key, *(of.unflatten(1, (key_heads, -1)).sum(2) for of in (of_scores.mT @ query, of_values)))
    for gradient, exact in zip(got, wanted, strict=False):
        close(plain(gradient), exact, 8e-3)


def test_other_numbers_of_scales_are_refused():
    query = torch.zeros(1, 1, 300, 8).to(torch.float8_e4m3fn).to(DEVICE)
    scales = [torch.ones(1, 1, count, 1, device=DEVICE) for count in (4, 2, 2)]
    statistics = torch.empty(2, 1, 1, 300, 1, device=DEVICE)
    far = (1 << 31) - 1
    arguments = (query, query, query, None, *scales, None, 1.0, far, far, 1, b"BNSD", 0, *statistics, None, torch.empty_like(query).half())
    refuses(
        "dScaleQ: expected 4 dimensions, and a scale for each 128, 256 or 512 of 300 positions", "aclnnQuantFlashAttentionScore", *arguments
    )


def test_attention_of_eight_bits_near_the_diagonal():
    query, key, value = (torch.randn(1, 1, size, 4).to(torch.float8_e5m2) for size in (6, 4, 4))
    one, statistics = torch.ones(1, 1, 1, 1, device=DEVICE), torch.empty(2, 1, 1, 6, 1, device=DEVICE)
    out = torch.empty(1, 1, 6, 4, device=DEVICE)
    there = [t.to(DEVICE) for t in (query, key, value)]
    call("aclnnQuantFlashAttentionScore", *there, None, one, one, one, None, 0.5, 1, 0, 1, b"BNSD", 0, *statistics, None, out)
    distance = torch.arange(4) - torch.arange(6).unsqueeze(1)
    scores = (query.double() @ key.double().mT * 0.5).masked_fill((distance > 0) | (distance < -1), -math.inf)
    largest = scores.amax(-1, keepdim=True)
    powers_of_e = torch.exp(scores - largest.masked_fill(largest == -math.inf, 0)).to(torch.float8_e5m2).double()
    total = powers_of_e.sum(-1, keepdim=True)
    close(out, powers_of_e @ value.double() / total.masked_fill(total == 0, 1))
    assert not out[..., 5:, :].any() and out[..., :5, :].any()  # rows from the sixth on see no key
