"""fused_quantization.cpp against definitions in float64."""

import os

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, close, on_npu
from few_bits import assert_nearest, assert_nearest_rows, near

from direct import call


@pytest.mark.parametrize("four_bits", [False, True])
def test_group_quant(four_bits):
    x, scale, offset = torch.randn(6, 16), torch.rand(3, 16) * (2 if four_bits else 30), torch.tensor([0.5])
    ends = torch.tensor([2, 2, 6], dtype=torch.int32)
    dtype = torch.quint4x2 if four_bits else torch.qint8
    y = on_npu(torch_npu.npu_group_quant, x, scale, ends, offset=offset, dst_dtype=dtype)
    assert_nearest(y, torch.cat((x[:2].double() * scale[0].double(), x[2:].double() * scale[2].double())) + 0.5)


@pytest.mark.skipif(
    os.environ.get("TASK_QUEUE_ENABLE") == "2",
    reason="op-plugin GeluQuantKernelNpuOpApi.cpp:56: in queue mode 2 the text of `approximate` is gone before phase 1 reads it",
)
@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_gelu_quant(mode, approximate):
    x, scale, offset = torch.randn(5, 16) * 3, torch.rand(16) * 20, torch.randn(16) * 5
    y, out_scale = on_npu(
        torch.ops.npu.npu_gelu_quant, x, input_scale=scale, input_offset=offset if mode == "static" else None, approximate=approximate,
        quant_mode=mode,
    )  # fmt: skip
    exact = F.gelu(x.double(), approximate=approximate) * scale.double()
    if mode == "static":
        assert_nearest(y, exact + offset.double())
    else:
        assert_nearest_rows(y, out_scale, exact)


@pytest.mark.parametrize("bias", [None, torch.int32, torch.float32], ids=str)
@pytest.mark.parametrize("with_rows", [False, True])
def test_dequant_bias(with_rows, bias):
    x, columns, rows = torch.randint(-999, 999, (4, 6), dtype=torch.int32), torch.rand(6), torch.rand(4)
    plus = None if bias is None else (torch.randn(6) * 9).to(bias)
    got = on_npu(torch_npu.npu_dequant_bias, x, columns, rows if with_rows else None, plus, output_dtype=torch.bfloat16)
    scales = columns.double() * (rows.double().unsqueeze(1) if with_rows else 1)
    after = 0 if plus is None else plus.double() * (scales if bias == torch.int32 else 1)
    close(got, x.double() * scales + after, 8e-3)


@pytest.mark.parametrize("divide", [False, True])
def test_rms_norm_quant(divide):
    x, gamma, beta = torch.randn(4, 32).half(), torch.rand(32).half(), torch.randn(32).half()
    scale, offset = torch.tensor([0.05 if divide else 20.0]), torch.tensor([2], dtype=torch.int32)
    y, _ = on_npu(torch.ops.npu.npu_rms_norm_quant_v2, x, gamma, scale, offset=offset, beta=beta, div_mode=divide)
    normal = F.rms_norm(x.double(), (32,), gamma.double(), 1e-6) + beta.double()
    assert_nearest(y, (normal / scale.double() if divide else normal * scale.double()) + 2)


def test_rms_norm_quant_and_the_inverse():
    x, gamma, scale = torch.randn(4, 32), torch.rand(32), torch.tensor([20.0])
    y, rstd = torch.zeros(4, 32, dtype=torch.int8, device=DEVICE), torch.zeros(4, 1, device=DEVICE)
    call("aclnnRmsNormQuantV3", x, gamma, scale, None, None, 1e-6, False, True, y, rstd)
    close(rstd, (x.double().square().mean(-1, True) + 1e-6).rsqrt())


@pytest.mark.parametrize("divide", [False, True])
def test_rms_norm_backward_quant(divide):
    x, gamma, grad, scale = torch.randn(6, 16), torch.rand(16), torch.randn(6, 16), torch.tensor([0.02 if divide else 50.0])
    leaves = [t.double().requires_grad_() for t in (x, gamma)]
    F.rms_norm(leaves[0], (16,), leaves[1], 1e-6).backward(grad.double())
    rstd = (x.square().mean(-1) + 1e-6).rsqrt()
    dx, dgamma = on_npu(torch.ops.npu._npu_rms_norm_backward_quant, grad, x, rstd, gamma, scale, div_mode=divide)
    expected = leaves[0].grad / scale.double() if divide else leaves[0].grad * scale.double()
    assert ((dx.cpu() - expected.clamp(-128, 127)).abs() <= 0.5 + 1e-4).all()
    close(dgamma, leaves[1].grad)


@pytest.mark.parametrize("four_bits", [False, True])
def test_rotate_quant(four_bits):
    x, rotation = torch.randn(4, 32).half(), torch.linalg.qr(torch.randn(16, 16))[0].half()
    y, scale = on_npu(torch_npu.npu_rotate_quant, x, rotation, dst_dtype=torch.quint4x2 if four_bits else torch.int8)
    exact = torch.cat([part.double() @ rotation.double() for part in x.split(16, 1)], 1)
    assert_nearest_rows(y, scale, exact)


def test_kronecker_quant():
    x, left, right = torch.randn(3, 5, 16).half(), torch.randn(5, 5).half(), torch.randn(16, 16).half()
    y, scale = on_npu(torch_npu.npu_kronecker_quant, x, left, right, clip_ratio=0.5)
    exact = left.double() @ x.double() @ right.double()
    expected = exact.abs().amax((1, 2)) / 3.5
    close(scale, expected)
    assert_nearest(y, exact / expected.view(-1, 1, 1))


@pytest.mark.parametrize("shape", [(3, 300), (2, 3, 128)])
def test_dynamic_block_quant(shape):
    x = torch.randn(*shape).half()
    y, scale = on_npu(torch_npu.npu_dynamic_block_quant, x)
    for got, divisors, block in zip(y.split(128, -1), scale.unbind(-1), x.double().split(128, -1), strict=True):
        assert_nearest_rows(got, divisors, block)


def test_dynamic_block_quant_of_rows_and_the_smallest_scale():
    x = torch.randn(5, 6).half()
    y, scale = torch.zeros(5, 6, dtype=torch.int8, device=DEVICE), torch.zeros(3, 2, device=DEVICE)
    call("aclnnDynamicBlockQuant", x, 0.5, b"rint", 2, 2, 4, y, scale)
    for i, rows in enumerate(x.double().split(2)):
        for j, block in enumerate(rows.split(4, 1)):
            expected = max(block.abs().max().item() / 127, 0.5)
            assert scale[i, j].item() == pytest.approx(expected)
            assert near(y.cpu()[2 * i : 2 * i + block.size(0), 4 * j : 4 * j + block.size(1)], block / expected)


@pytest.mark.parametrize("pairs", [False, True])
def test_quant_scatter(pairs):
    var = torch.randint(-9, 9, (3, 2, 5, 32), dtype=torch.int8)
    updates, scales, zeros = torch.randn(2, 2, 2, 32).bfloat16(), torch.rand(32).bfloat16() + 0.1, torch.randn(32).bfloat16()
    places = torch.tensor([[2, 1], [0, 3]] if pairs else [1, 3], dtype=torch.int32)
    got = on_npu(torch_npu.npu_quant_scatter_, var, places, updates, scales, zeros)
    exact = (updates.double() / scales.double() + zeros.double()).round().clamp(-128, 127).to(torch.int8)
    expected = var.clone()
    for i, (batch, place) in enumerate([(2, 1), (0, 3)] if pairs else [(0, 1), (1, 3)]):
        expected[batch, :, place : place + 2] = exact[i]
    assert got.cpu().equal(expected)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("limit", [0.0, 0.7])
def test_swiglu_group_quant_backward(limit, grouped):
    x, weight = torch.randn(6, 8, dtype=torch.float64, requires_grad=True), torch.rand(6, 1, dtype=torch.float64, requires_grad=True)
    first, second = x.chunk(2, 1)
    if limit:
        first, second = first.clamp(max=limit), second.clamp(-limit, limit)
    origin, grad = F.silu(first) * second, torch.randn(6, 4)
    counts = torch.tensor([1, 3]) if grouped else None
    kept = torch.arange(6).lt(4).unsqueeze(1) if grouped else 1
    (origin * weight * kept).backward(grad.double())
    dx, dweight = on_npu(
        torch.ops.npu.npu_swiglu_group_quant_backward, grad, x.detach().float(), weight=weight.detach().float(),
        y_origin=origin.detach().float(), group_index=counts, clamp_limit=limit,
    )  # fmt: skip
    close(dx, x.grad)
    close(dweight, weight.grad)
