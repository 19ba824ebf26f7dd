"""quantisation.cpp and quantised_products.cpp against their definitions in float64."""

import ctypes

import pytest
import torch
import torch_npu
from few_bits import bytes_of, four_bits, half_a_byte, integers, near, numbers_of, words_of

from cases import DEVICE
from direct import call, refusal

HALVES = (torch.float16, torch.bfloat16)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("smooth", [False, True])
def test_dynamic_quant(smooth, dtype):
    x, factors = torch.randn(3, 5, 16).to(dtype), torch.rand(16).to(dtype) + 0.5
    y, scale = torch_npu.npu_dynamic_quant(x.to(DEVICE), smooth_scales=factors.to(DEVICE) if smooth else None)
    exact = x.double() * factors.double() if smooth else x.double()
    expected = exact.abs().amax(-1) / 127
    torch.testing.assert_close(scale.cpu().double(), expected, rtol=1e-6, atol=0)
    assert near(y.cpu(), exact / expected.unsqueeze(-1)) and y.cpu().abs().amax() == 127


def test_dynamic_quant_of_groups_of_rows():
    x, factors = torch.randn(6, 8).half(), torch.rand(3, 8).half() + 0.5
    ends = torch.tensor([2, 2, 6], dtype=torch.int32)
    y, scale = torch_npu.npu_dynamic_quant(x.to(DEVICE), smooth_scales=factors.to(DEVICE), group_index=ends.to(DEVICE))
    exact = torch.cat((x[:2].double() * factors[0].double(), x[2:].double() * factors[2].double()))
    torch.testing.assert_close(scale.cpu().double(), exact.abs().amax(-1) / 127, rtol=1e-6, atol=0)
    assert near(y.cpu(), exact / exact.abs().amax(-1, True) * 127)


def test_dynamic_quant_to_four_bits():
    x = torch.randn(3, 16).half()
    y, scale = torch_npu.npu_dynamic_quant(x.to(DEVICE), dst_type=torch.quint4x2)
    assert y.dtype == torch.int32 and y.shape == (3, 2)
    torch.testing.assert_close(scale.cpu().double(), x.double().abs().amax(-1) / 7, rtol=1e-6, atol=0)
    assert near(numbers_of(y.cpu()), x.double() / x.double().abs().amax(-1, True) * 7)


def test_a_row_of_zeros_stays_one():
    y, scale = torch_npu.npu_dynamic_quant(torch.zeros(2, 8, dtype=torch.half, device=DEVICE))
    assert not y.cpu().any() and not scale.cpu().any()


def test_dynamic_quant_asymmetric():
    x = torch.randn(4, 32).half() + 1
    y, scale, offset = torch_npu.npu_dynamic_quant_asymmetric(x.to(DEVICE))
    exact = x.double()
    expected = (exact.amax(-1) - exact.amin(-1)) / 255
    shift = 127 - exact.amax(-1) / expected
    torch.testing.assert_close(scale.cpu().double(), expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(offset.cpu().double(), shift, rtol=1e-5, atol=1e-5)
    assert near(y.cpu(), exact / expected.unsqueeze(-1) + shift.unsqueeze(-1))
    assert y.cpu().amax() == 127 and y.cpu().amin() == -128


@pytest.mark.parametrize(("mode", "dims"), [("perchannel", (-2,)), ("pertensor", (0, 1))])
def test_dynamic_quant_of_columns_and_of_all(mode, dims):
    x = torch.randn(4, 8).half()
    y, scale = torch_npu.npu_dynamic_quant(x.to(DEVICE), quant_mode=mode)
    largest = x.double().abs().amax(dims, True)
    torch.testing.assert_close(scale.cpu().double().flatten(), largest.flatten() / 127, rtol=1e-6, atol=0)
    assert near(y.cpu(), x.double() / largest * 127)


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES], ids=str)
def test_quantize_multiplies_by_the_scale(dtype):
    x, scale, offset = (t.to(dtype) for t in (torch.randn(5, 8) * 60, torch.rand(8) + 1, torch.randn(8)))
    there = [t.to(DEVICE) for t in (x, scale, offset)]
    y = torch_npu.npu_quantize(*there, torch.qint8, -1, False)
    exact = (x.double() * scale.double() + offset.double()).clamp(-128, 127)
    assert near(y.cpu(), exact) and {-128, 127} <= set(y.cpu().flatten().tolist())
    packed = torch_npu.npu_quantize(*there, torch.quint4x2, -1, False)
    assert near(numbers_of(packed.cpu()), (x.double() * scale.double() + offset.double()).clamp(-8, 7))


def test_quantize_divides_by_the_scale():
    x, scale, zero = torch.randn(4, 3) * 50, torch.rand(4) + 0.5, torch.randint(-5, 5, (4,), dtype=torch.int32)
    y = torch_npu.npu_quantize(x.to(DEVICE), scale.to(DEVICE), zero.to(DEVICE), torch.qint8, 0)
    assert near(y.cpu(), (x.double() / scale.double().unsqueeze(1) + zero.double().unsqueeze(1)).clamp(-128, 127))


def test_anti_quant():
    x, scale, offset = torch.randint(-128, 128, (3, 16), dtype=torch.int8), torch.rand(16), torch.randn(16)
    y = torch_npu.npu_anti_quant(x.to(DEVICE), scale.to(DEVICE), offset=offset.to(DEVICE), dst_dtype=torch.float16)
    expected = (x.double() + offset.double()) * scale.double()
    torch.testing.assert_close(y.cpu(), expected.half(), rtol=1e-3, atol=1e-6)
    numbers = four_bits(3, 16)
    y = torch_npu.npu_anti_quant(words_of(numbers).to(DEVICE), scale.to(DEVICE), dst_dtype=torch.float16, src_dtype=torch.quint4x2)
    torch.testing.assert_close(y.cpu(), (numbers * scale.double()).half(), rtol=1e-3, atol=1e-6)


def test_ascend_quant_rounds_as_told():
    x = torch.tensor([[-2.5, -1.5, -0.6, 0.5, 1.5, 1.7, 2.2, 300.0]], device=DEVICE)
    for mode, expected in (
        ("round", [-2, -2, -1, 0, 2, 2, 2, 127]),
        ("floor", [-3, -2, -1, 0, 1, 1, 2, 127]),
        ("ceil", [-2, -1, 0, 1, 2, 2, 3, 127]),
        ("trunc", [-2, -1, 0, 0, 1, 1, 2, 127]),
    ):
        y = torch.zeros(1, 8, dtype=torch.int8, device=DEVICE)
        call("aclnnAscendQuant", x, torch.ones(8, device=DEVICE), None, False, mode.encode(), ctypes.c_int(2), y)
        assert y.cpu().tolist() == [expected], mode


@pytest.mark.parametrize("round_mode", [0, 1])
def test_trans_quant_param(round_mode):
    scale, offset = torch.rand(9) * 3, torch.randn(9) * 300
    got = torch_npu.npu_trans_quant_param(scale.to(DEVICE), offset.to(DEVICE), round_mode=round_mode).cpu()
    for word, factor, shift in zip(got.tolist(), scale.view(torch.int32).tolist(), offset.tolist(), strict=True):
        kept = factor & 0xFFFFE000
        assert word & 0xFFFFFFFF in ((kept, kept + 0x2000) if round_mode else (kept,))
        assert abs((word & 0xFFFFFFFF) - factor) <= (0x1000 if round_mode else 0x1FFF)
        assert word >> 46 == 1 and (word >> 37 & 0x1FF) == max(min(round(shift), 255), -256) & 0x1FF


def test_convert_weight_to_int4_pack():
    numbers = four_bits(3, 16)
    packed = torch.zeros(3, 2, dtype=torch.int32, device=DEVICE)
    call("aclnnConvertWeightToINT4Pack", numbers.int().to(DEVICE), packed)
    assert packed.cpu().equal(words_of(numbers))
    assert torch_npu.npu_convert_weight_to_int4pack(numbers.int().to(DEVICE)).cpu().equal(words_of(numbers))
    halves = torch.zeros(3, 8, dtype=torch.uint8, device=DEVICE)
    call("aclnnConvertWeightToINT4Pack", numbers.int().to(DEVICE), half_a_byte(halves, (3, 16)))
    assert halves.cpu().equal(bytes_of(numbers))


# Products ---------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("transposed", [False, True])
def test_quant_matmul(transposed, batch):
    x1, x2, scale, rows = integers(*batch, 4, 16), integers(*batch, 16, 6), torch.rand(6) / 1000, torch.rand(4)
    bias = torch.randint(-1000, 1000, (6,), dtype=torch.int32)
    right = x2.mT.contiguous().to(DEVICE).mT if transposed else x2.to(DEVICE)
    acc = x1.double() @ x2.double()
    left, factor, shift = x1.to(DEVICE), scale.to(DEVICE), bias.to(DEVICE)
    got = torch_npu.npu_quant_matmul(left, right, factor, bias=shift, pertoken_scale=rows.to(DEVICE), output_dtype=torch.bfloat16)
    expected = (acc + bias.double()) * scale.double() * rows.double().unsqueeze(-1)
    torch.testing.assert_close(got.cpu(), expected.bfloat16(), rtol=8e-3, atol=1e-6)
    got = torch_npu.npu_quant_matmul(left, right, factor, output_dtype=torch.bfloat16, bias=torch.ones(6, device=DEVICE))
    torch.testing.assert_close(got.cpu(), (acc * scale.double() + 1).bfloat16(), rtol=8e-3, atol=1e-6)


def test_quant_matmul_to_bytes():
    """By the scale's bits, which have 10 of a FLOAT's mantissa."""
    x1, x2, scale, offset = integers(4, 16), integers(16, 6), torch.rand(6) / 1000, torch.randint(-9, 9, (6,)).float()
    got = torch_npu.npu_quant_matmul(x1.to(DEVICE), x2.to(DEVICE), scale.to(DEVICE), offset=offset.to(DEVICE))
    kept = (scale.view(torch.int32) & -0x2000).view(torch.float32).double()
    assert near(got.cpu(), ((x1.double() @ x2.double()) * kept + offset.double()).clamp(-128, 127))
    bits = torch_npu.npu_trans_quant_param(scale.to(DEVICE), offset.to(DEVICE))
    alone = torch.zeros(4, 6, dtype=torch.int8, device=DEVICE)
    call("aclnnQuantMatmulV4", x1.to(DEVICE), x2.to(DEVICE), bits, None, None, None, False, False, alone)
    assert alone.cpu().equal(got.cpu())


def test_quant_matmul_of_four_bits():
    x1, x2, scale = four_bits(4, 16), four_bits(16, 8), torch.rand(8)
    left, right = words_of(x1).to(DEVICE), words_of(x2).to(DEVICE)
    got = torch_npu.npu_quant_matmul(left, right, scale.to(DEVICE), pertoken_scale=torch.ones(4, device=DEVICE), output_dtype=torch.float16)
    torch.testing.assert_close(got.cpu(), ((x1 @ x2) * scale.double()).half(), rtol=1e-3, atol=1e-4)
    out = torch.zeros(4, 8, dtype=torch.half, device=DEVICE)
    halves = [bytes_of(x).to(DEVICE) for x in (x1, x2)]
    arguments = [half_a_byte(halves[0], (4, 16)), half_a_byte(halves[1], (16, 8)), scale.to(DEVICE), None, None, False, False]
    call("aclnnQuantMatmulV3", *arguments, out)
    assert out.cpu().equal(got.cpu())


def test_quant_matmul_transposes():
    x1, x2, out = integers(16, 4).to(DEVICE), integers(6, 16).to(DEVICE), torch.zeros(4, 6, device=DEVICE)
    call("aclnnQuantMatmulV3", x1, x2, torch.ones(1, device=DEVICE), None, None, True, True, out)
    assert out.cpu().double().equal(x1.cpu().double().T @ x2.cpu().double().T)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("group", [0, 32])
@pytest.mark.parametrize("bits", [8, 4])
def test_weight_quant_batchmatmul(bits, group, dtype):
    rows = 2 if group else 1
    x, weight = torch.randn(3, 64).to(dtype), four_bits(64, 8) if bits == 4 else integers(64, 8)
    scale, offset, bias = torch.rand(rows, 8).to(dtype), torch.randn(rows, 8).to(dtype), torch.randn(8)
    bias = bias if dtype == torch.bfloat16 else bias.half()
    stored = words_of(weight) if bits == 4 else weight
    got = torch_npu.npu_weight_quant_batchmatmul(
        x.to(DEVICE), stored.to(DEVICE), scale.to(DEVICE), offset.to(DEVICE), bias=bias.to(DEVICE), antiquant_group_size=group
    )
    each = (lambda t: t.double().repeat_interleave(32, 0)) if group else torch.Tensor.double
    expected = x.double() @ ((weight.double() + each(offset)) * each(scale)) + bias.double()
    torch.testing.assert_close(got.cpu(), expected.to(dtype), rtol=8e-3, atol=1e-3)


def test_weight_quant_batchmatmul_to_bytes():
    x, weight, scale = torch.randn(3, 32).half(), integers(32, 8), torch.rand(8).half()
    quarter = torch.full((8,), 0.25).to(DEVICE)
    got = torch_npu.npu_weight_quant_batchmatmul(x.to(DEVICE), weight.to(DEVICE), scale.to(DEVICE), quant_scale=quarter)
    assert near(got.cpu(), (x.double() @ (weight.double() * scale.double()) / 4).clamp(-128, 127))


def test_what_the_engine_has_not_got_is_refused():
    x1, x2 = integers(4, 16).to(DEVICE), words_of(four_bits(16, 8)).to(DEVICE)
    one, out = torch.ones(1, device=DEVICE), torch.zeros(4, 8, device=DEVICE)
    code, message = refusal("aclnnQuantMatmulV3", x1, x2, one, None, None, False, False, out)
    assert code == 161002 and "x2: expected numbers of 8 bits, as x1 has" in message
    arguments = [x1, x1.T, None, one, None, None, None, None, None, False, False]
    code, message = refusal("aclnnQuantMatmulV5", *arguments, 1 << 32, out)
    assert code == 161002 and "groupSize: expected a value in 0..0" in message
    odd = torch.zeros(3, 3, dtype=torch.uint8, device=DEVICE)
    code, message = refusal("aclnnConvertWeightToINT4Pack", torch.zeros(3, 3, dtype=torch.int32, device=DEVICE), half_a_byte(odd, (3, 3)))
    assert code == 161002 and "weightInt4Pack: expected rows of four-bit numbers that begin and end with a byte" in message
