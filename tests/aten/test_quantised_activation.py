"""quantised_activation.cpp, cross_entropy.cpp, and the newer entry points of transformer.cpp, against their definitions in float64."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from few_bits import near, numbers_of

from cases import DEVICE, FLOATS, close, there
from direct import call

HALVES = (torch.float16, torch.bfloat16)


def rms(x, gamma, beta=0.0, epsilon=1e-6):
    return x / (x.square().mean(-1, True) + epsilon).sqrt() * gamma.double() + beta


@pytest.mark.parametrize("divide", [True, False])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_add_rms_norm_quant(dtype, divide):
    x1, x2, gamma, beta = (t.to(dtype) for t in (torch.randn(4, 32), torch.randn(4, 32), torch.rand(32), torch.randn(32)))
    scales, zeros = [torch.rand(32) / 20 + 0.02 for _ in range(2)], [torch.randint(-5, 5, (32,), dtype=torch.int32) for _ in range(2)]
    scales = scales if divide else [1 / s for s in scales]
    y1, y2, x = torch_npu.npu_add_rms_norm_quant(
        *there(x1, x2, gamma, scales[0], zeros[0], beta, scales[1], zeros[1]), epsilon=1e-6, div_mode=divide
    )
    total = x1.double() + x2.double()
    close(x, total)
    for got, scale, zero in zip((y1, y2), scales, zeros, strict=True):
        normal = rms(total, gamma, beta.double())
        assert near(got.cpu(), ((normal / scale.double() if divide else normal * scale.double()) + zero.double()).clamp(-128, 127))


def test_rms_norm_quant():
    x, gamma, beta = torch.randn(4, 32).half(), torch.rand(32).half(), torch.randn(32).half()
    scale, offset, y = torch.tensor([30.0]).half(), torch.tensor([2], dtype=torch.int8), torch.zeros(4, 32, dtype=torch.int8, device=DEVICE)
    call("aclnnRmsNormQuant", *there(x, gamma, beta, scale, offset), 1e-6, y)
    assert near(y.cpu(), (rms(x.double(), gamma, beta.double()) * 30 + 2).clamp(-128, 127))


@pytest.mark.parametrize("second", [False, True])
def test_add_rms_norm_dynamic_quant(second):
    x1, x2, gamma, *smooth = (t.half() for t in (torch.randn(4, 32), torch.randn(4, 32), torch.rand(32), torch.rand(32), torch.rand(32)))
    y1, y2, x, scale1, scale2 = torch_npu.npu_add_rms_norm_dynamic_quant(
        *there(x1, x2, gamma),
        smooth_scale1=there(smooth[0])[0],
        smooth_scale2=there(smooth[1])[0] if second else None,
        output_mask=[True, second],
    )
    total = x1.double() + x2.double()
    close(x, total)
    for y, scale, factor in ((y1, scale1, smooth[0]), (y2, scale2, smooth[1]))[: 1 + second]:
        exact = rms(total, gamma) * factor.double()
        torch.testing.assert_close(scale.cpu().double(), exact.abs().amax(-1) / 127, rtol=1e-5, atol=0)
        assert near(y.cpu(), exact * 127 / exact.abs().amax(-1, True))


def swiglu(x, left):
    first, second = x.double().chunk(2, -1)
    return F.silu(first) * second if left else first * F.silu(second)


@pytest.mark.parametrize("grouped", [None, 0, 1])
@pytest.mark.parametrize("dynamic", [0, 1])
def test_swiglu_quant(dynamic, grouped):
    x, factors, offsets = torch.randn(6, 32), torch.rand(3, 16) * 20, torch.randn(3, 16)
    sizes = torch.tensor([2, 1, 3], dtype=torch.int32)
    index = {None: None, 0: sizes.cumsum(0).int(), 1: sizes}[grouped]
    rows = torch.zeros(6, dtype=torch.int64) if grouped is None else torch.arange(3).repeat_interleave(sizes)
    smooth, shift = (factors, offsets) if grouped is not None else (factors[:1], offsets[:1])
    y, scale = torch_npu.npu_swiglu_quant(
        x.to(DEVICE), smooth_scales=smooth.to(DEVICE), offsets=None if dynamic else shift.to(DEVICE),
        group_index=None if index is None else index.to(DEVICE), activate_left=True, quant_mode=dynamic, group_list_type=grouped or 0,
    )  # fmt: skip
    exact = swiglu(x, True) * factors[rows].double()
    if dynamic:
        largest = exact.abs().amax(-1, True)
        torch.testing.assert_close(scale.cpu().double(), 127 / largest.squeeze(-1), rtol=1e-5, atol=0)
        assert near(y.cpu(), exact * 127 / largest)
    else:
        assert near(y.cpu(), (exact + offsets[rows].double()).clamp(-128, 127))


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("dynamic", [0, 1])
def test_dequant_swiglu_quant(dynamic, integers):
    sizes = torch.tensor([2, 1, 3])
    rows = torch.arange(3).repeat_interleave(sizes)
    x = torch.randint(-1000, 1000, (6, 32), dtype=torch.int32) if integers else torch.randn(6, 32).half()
    weight, activation, factor = torch.rand(3, 32) / 500, torch.rand(6, 1), torch.rand(3, 16) + 0.5
    y, scale = torch_npu.npu_dequant_swiglu_quant(
        x.to(DEVICE), weight_scale=weight.to(DEVICE) if integers else None, activation_scale=activation.to(DEVICE) if integers else None,
        quant_scale=factor.to(DEVICE) if dynamic else (factor / 50).to(DEVICE), group_index=sizes.to(DEVICE), activate_left=False,
        quant_mode=dynamic,
    )  # fmt: skip
    exact = swiglu(x.double() * weight[rows].double() * activation.double() if integers else x, False)
    if dynamic:
        exact = exact * factor[rows].double()
        largest = exact.abs().amax(-1, True)
        torch.testing.assert_close(scale.cpu().double(), largest.squeeze(-1) / 127, rtol=1e-5, atol=0)
        assert near(y.cpu(), exact * 127 / largest)
    else:
        assert near(y.cpu(), (exact / (factor / 50)[rows].double()).clamp(-128, 127))


def test_dequant_swiglu_quant_of_neighbours():
    x = torch.randn(4, 32).half() * 6
    y, scale = torch_npu.npu_dequant_swiglu_quant(x.to(DEVICE), quant_mode=1, swiglu_mode=1, clamp_limit=3.0, glu_alpha=1.5, glu_bias=0.5)
    gate, linear = x.double()[:, ::2].clamp(max=3), x.double()[:, 1::2].clamp(-3, 3)
    exact = gate * torch.sigmoid(1.5 * gate) * (linear + 0.5)
    assert near(y.cpu(), exact * 127 / exact.abs().amax(-1, True))
    torch.testing.assert_close(scale.cpu().double(), exact.abs().amax(-1) / 127, rtol=1e-5, atol=0)


def test_swiglu_quant_to_four_bits():
    x, y, scale = torch.randn(3, 32), torch.zeros(3, 2, dtype=torch.int32, device=DEVICE), torch.zeros(3, device=DEVICE)
    call("aclnnSwiGluQuant", x.to(DEVICE), None, None, None, True, b"dynamic", y, scale)
    exact = swiglu(x, True)
    assert near(numbers_of(y.cpu()), exact * 7 / exact.abs().amax(-1, True))


# Normalisation and rotation ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gemma_rms_norm(dtype):
    x, gamma = torch.randn(3, 4, 16).to(dtype), torch.randn(16).to(dtype)
    y, rstd = torch_npu.npu_gemma_rms_norm(*there(x, gamma), 1e-5)
    close(y, rms(x.double(), gamma.double() + 1, epsilon=1e-5))
    close(rstd, 1 / (x.double().square().mean(-1, True) + 1e-5).sqrt())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_add_rms_norm_in_place(dtype):
    x1, x2, gamma = torch.randn(3, 16).to(dtype), torch.randn(3, 16).to(dtype), torch.rand(16).to(dtype)
    one, two = there(x1, x2)
    torch_npu.npu_add_rms_norm_v2(one, two, gamma.to(DEVICE), epsilon=1e-6)
    total = x1.double() + x2.double()
    close(one, rms(total, gamma))
    close(two, total)


def test_add_rms_norm_cast():
    x1, x2, gamma = torch.randn(3, 16).half(), torch.randn(3, 16).half(), torch.rand(16).half()
    y1, y2, _, x = torch_npu.npu_add_rms_norm_cast(*there(x1, x2, gamma), 1e-6)
    total = x1.double() + x2.double()
    assert y1.dtype == torch.float32 and y2.dtype == torch.half
    close(y1, rms(total, gamma))
    close(y2, rms(total, gamma))
    close(x, total)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_group_norm_swish(dtype):
    inputs = [t.to(dtype) for t in (torch.randn(2, 6, 5, 3), torch.randn(6), torch.randn(6))]
    leaves = [t.to(DEVICE).requires_grad_() for t in inputs]
    got, mean, _ = torch_npu.npu_group_norm_swish(leaves[0], 3, *leaves[1:], eps=1e-5, swish_scale=1.3)
    here = [t.double().requires_grad_() for t in inputs]
    normal = F.group_norm(here[0], 3, *here[1:], 1e-5)
    expected = normal / (1 + torch.exp(-1.3 * normal))
    close(got.detach(), expected.detach())
    close(mean.detach(), here[0].detach().view(2, 3, -1).mean(-1))
    cotangent = torch.randn(2, 6, 5, 3).to(dtype)
    wanted = torch.autograd.grad(expected, here, cotangent.double())
    close(torch.autograd.grad(got, leaves, cotangent.to(DEVICE)), wanted)


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_apply_rotary_pos_emb(mode):
    query, key = torch.randn(2, 3, 4, 128).half(), torch.randn(2, 3, 1, 128).half()
    angles = torch.rand(2, 3, 1, 128)
    cos, sin = angles.cos().half(), angles.sin().half()
    got = torch_npu.npu_apply_rotary_pos_emb(*there(query, key, cos, sin), "BSND", mode)
    for have, x in zip(got, (query.double(), key.double()), strict=True):
        halves, pairs = torch.cat((-x[..., 64:], x[..., :64]), -1), torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        turned = halves if mode == "half" else pairs
        close(have, x * cos.double() + turned * sin.double())


# Cross entropy ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(smoothing, reduction, dtype):
    x, target, weight = torch.randn(6, 5).to(dtype), torch.tensor([1, 4, 2, 0, 2, 3]), torch.rand(5) + 0.1
    leaf, here = x.to(DEVICE).requires_grad_(), x.double().requires_grad_()
    loss, log_prob, _, _ = torch_npu.npu_cross_entropy_loss(
        leaf, *there(target, weight), reduction=reduction, ignore_index=2, label_smoothing=smoothing
    )
    expected = F.cross_entropy(here, target, weight.double(), reduction=reduction, ignore_index=2, label_smoothing=smoothing)
    close(loss.detach().flatten(), expected.detach().flatten())
    close(log_prob.detach(), here.detach().log_softmax(1))
    cotangent = torch.rand(loss.shape) + 0.5
    loss.backward(cotangent.to(dtype).to(DEVICE))
    expected.backward(cotangent.to(dtype).double().view(expected.shape))
    close(leaf.grad, here.grad)
