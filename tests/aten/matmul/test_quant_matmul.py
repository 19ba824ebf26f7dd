"""quant_matmul.cpp against definitions in float64."""

import math

import torch_aclnn
import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, check, close, on_npu
from few_bits import assert_nearest, bytes_of, four_bits, half_a_byte, integers, powers_of_two, words_of

from direct import call
from support.marks import of_the_950


@of_the_950
def test_products_with_powers_of_two():
    x, weight = torch.randn(6, 128).bfloat16(), torch.randn(128, 10).bfloat16()
    kind, e8m0 = torch_npu.float8_e4m3fn, torch_npu.float8_e8m0fnu
    (left, scale1), (right, scale2) = (
        torch_npu.npu_dynamic_mx_quant(t.to(DEVICE), axis=a, dst_type=kind) for t, a in ((x, 1), (weight, 0))
    )
    exact = (left.cpu().double() * powers_of_two(x, 1, 8)[0]) @ (right.cpu().double() * powers_of_two(weight, 0, 8)[0])
    got = torch_npu.npu_quant_matmul(
        left, right, scale2, pertoken_scale=scale1, output_dtype=torch.float32, scale_dtype=e8m0, pertoken_scale_dtype=e8m0,
        group_sizes=[1, 1, 32],
    )  # fmt: skip
    close(got, exact)
    total = torch.ones(6, 10, device=DEVICE)
    torch_npu.npu_add_quant_matmul_(total, left, right, scale2, x1_scale=scale1, x1_scale_dtype=e8m0, x2_scale_dtype=e8m0)
    close(total, exact + 1)


@of_the_950
def test_products_with_scales_of_columns():
    x, weight = (torch.randn(*s).to(torch.float8_e4m3fn) for s in ((6, 32), (32, 10)))
    scale, rows = torch.rand(10), torch.rand(6)
    got = on_npu(torch_npu.npu_quant_matmul, x, weight, scale, pertoken_scale=rows, output_dtype=torch.bfloat16)
    close(got, x.double() @ weight.double() * scale.double() * rows.double().unsqueeze(1), 8e-3)


def test_a_product_that_is_quantised():
    x1, x2, bias = torch.randn(4, 16).half(), torch.randn(16, 6).half(), torch.randn(6).half()
    scale, offset = torch.rand(6) * 9, torch.tensor([3.0])
    bits = on_npu(torch_npu.npu_trans_quant_param, scale, offset)
    out = torch.zeros(4, 6, dtype=torch.int8, device=DEVICE)
    call("aclnnBatchMatmulQuant", x1.T.contiguous(), x2, bits, bias, True, False, out)
    kept = (scale.view(torch.int32) & -0x2000).view(torch.float32).double()
    assert_nearest(out, ((x1.double() @ x2.double() + bias.double()) * kept + 3))


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("transposed", [False, True])
def test_quant_matmul(transposed, batch):
    x1, x2, scale, rows = integers(*batch, 4, 16), integers(*batch, 16, 6), torch.rand(6) / 1000, torch.rand(4)
    bias = torch.randint(-1000, 1000, (6,), dtype=torch.int32)
    right = x2.mT.contiguous().to(DEVICE).mT if transposed else x2.to(DEVICE)
    acc = x1.double() @ x2.double()
    left, factor, shift = x1.to(DEVICE), scale.to(DEVICE), bias.to(DEVICE)
    got = on_npu(torch_npu.npu_quant_matmul, left, right, factor, bias=shift, pertoken_scale=rows, output_dtype=torch.bfloat16)
    expected = (acc + bias.double()) * scale.double() * rows.double().unsqueeze(-1)
    torch.testing.assert_close(got.cpu(), expected.bfloat16(), rtol=8e-3, atol=1e-6)
    got = torch_npu.npu_quant_matmul(left, right, factor, output_dtype=torch.bfloat16, bias=torch.ones(6, device=DEVICE))
    torch.testing.assert_close(got.cpu(), (acc * scale.double() + 1).bfloat16(), rtol=8e-3, atol=1e-6)


def test_quant_matmul_to_bytes():
    """The scale's bits have 10 of a FLOAT's mantissa."""
    x1, x2, scale, offset = integers(4, 16), integers(16, 6), torch.rand(6) / 1000, torch.randint(-9, 9, (6,)).float()
    got = on_npu(torch_npu.npu_quant_matmul, x1, x2, scale, offset=offset)
    kept = (scale.view(torch.int32) & -0x2000).view(torch.float32).double()
    assert_nearest(got, ((x1.double() @ x2.double()) * kept + offset.double()))
    bits = on_npu(torch_npu.npu_trans_quant_param, scale, offset)
    alone = torch.zeros(4, 6, dtype=torch.int8, device=DEVICE)
    call("aclnnQuantMatmulV4", x1, x2, bits, None, None, None, False, False, alone)
    assert alone.cpu().equal(got.cpu())


def test_quant_matmul_of_four_bits():
    x1, x2, scale = four_bits(4, 16), four_bits(16, 8), torch.rand(8)
    left, right = words_of(x1).to(DEVICE), words_of(x2).to(DEVICE)
    got = on_npu(torch_npu.npu_quant_matmul, left, right, scale, pertoken_scale=torch.ones(4, device=DEVICE), output_dtype=torch.float16)
    torch.testing.assert_close(got.cpu(), ((x1 @ x2) * scale.double()).half(), rtol=1e-3, atol=1e-4)
    out = torch.zeros(4, 8, dtype=torch.half, device=DEVICE)
    halves = [bytes_of(x).to(DEVICE) for x in (x1, x2)]
    arguments = [half_a_byte(halves[0], (4, 16)), half_a_byte(halves[1], (16, 8)), scale.to(DEVICE), None, None, False, False]
    call("aclnnQuantMatmulV3", *arguments, out)
    assert out.cpu().equal(got.cpu())


@pytest.mark.parametrize("shape", [(2, 1), (1, 2), (2,)])
def test_scales_of_rows_are_those_of_each_of_a_batch(shape):
    left, right, scales = (torch.arange(1, 1 + math.prod(s)).view(s) for s in ((3, 2, 4), (3, 4, 5), shape))
    exact = ((left @ right) * scales.view(2, 1)).float()
    factors = left.to(torch.int8), right.to(torch.int8), torch.ones(5), None, scales.float(), None, False, False
    check("aclnnQuantMatmulV4", factors, exact, dtype=exact.dtype)


@pytest.mark.parametrize("transposed", [False, True])
def test_quantised_products(in_blocks, transposed):
    x, weight, scale, rows = integers(4, 64), integers(64, 40), torch.rand(40) / 100, torch.rand(4)
    there = in_blocks(weight, transposed)
    exact = x.double() @ weight.double() * scale.double() * rows.double().unsqueeze(-1)
    quantised = [x.to(DEVICE), there, scale.to(DEVICE)]
    close(torch_npu.npu_quant_matmul(*quantised, pertoken_scale=rows.to(DEVICE), output_dtype=torch.bfloat16), exact, 8e-3)
    for mode in ("gelu_erf", "gelu_tanh"):
        got = on_npu(torch_npu.npu_quant_matmul_gelu, x, there, rows, scale, approximate=mode)
        close(got, F.gelu(exact, approximate=mode.removeprefix("gelu_").replace("erf", "none")))
        plain = on_npu(torch_npu.npu_quant_matmul_gelu, x, weight, rows, scale, approximate=mode)
        assert plain.cpu().equal(got.cpu())
    called = torch_aclnn.host.statistics().calls.keys()
    assert {"aclnnQuantMatmulWeightNz", "aclnnFusedQuantMatmul", "aclnnFusedQuantMatmulWeightNz"} <= called


def test_sum_of_quantised_products(in_blocks):
    x, weights, scale, rows = integers(3, 4, 64), integers(3, 64, 40), torch.rand(40).bfloat16(), torch.rand(3, 4)
    got = on_npu(torch_npu.npu_quant_matmul_reduce_sum, x, in_blocks(weights), x1_scale=rows, x2_scale=scale)
    close(got, ((x.double() @ weights.double()) * rows.double().unsqueeze(-1)).sum(0) * scale.double(), 8e-3)
