"""quantization.cpp against definitions in float64."""

import ctypes

import pytest
import torch
import torch_npu
from checks import DEVICE, FLOATS, HALVES, close, on_npu
from few_bits import assert_nearest, assert_nearest_rows, bytes_of, four_bits, half_a_byte, words_of

from direct import call, refuses


@pytest.mark.parametrize("offsets", [None, [3.0, -300.0, 0.6]])
def test_parameters_of_quantisation_in_host_memory(offsets):
    """The upper 19 bits of the scale, the offset in 9 bits from bit 37 on, and bit 46."""
    library, scales = ctypes.CDLL("libopapi.so"), [0.3, 1.0, 2.5]
    result, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()

    def transform(scales, scale_count, offsets, offset_count):
        return library.aclnnTransQuantParam(
            scales, ctypes.c_uint64(scale_count), offsets, ctypes.c_uint64(offset_count), ctypes.byref(result), ctypes.byref(count)
        )

    of_scales, of_offsets = ((ctypes.c_float * 3)(*values) if values else None for values in (scales, offsets))
    assert transform(of_scales, 3, of_offsets, 3 if offsets else 0) == 0 and count.value == 3
    for i, scale in enumerate(scales):
        bits = ctypes.c_uint32.from_buffer_copy(ctypes.c_float(scale)).value & 0xFFFFE000
        nearest = max(-256, min(255, round(offsets[i]))) if offsets else 0
        assert result[i] == bits | (nearest & 0x1FF) << 37 | 1 << 46
    assert transform(None, 3, None, 0) == 161001
    assert transform(of_scales, 0, None, 0) == transform(of_scales, 3, None, 1) == 161002


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_dynamic_quant(dtype):
    x, factors, of_groups = torch.randn(6, 16).to(dtype), torch.rand(16).to(dtype) + 0.5, torch.rand(3, 16).to(dtype) + 0.5
    ends, rows = torch.tensor([2, 2, 6], dtype=torch.int32), [0, 0, 2, 2, 2, 2]
    for options, factor in (
        ({}, torch.ones(16)),
        ({"smooth_scales": factors}, factors),
        ({"smooth_scales": of_groups, "group_index": ends}, of_groups[rows]),
        ({"dst_type": torch.quint4x2}, torch.ones(16)),
    ):
        y, scale = on_npu(torch_npu.npu_dynamic_quant, x, **options)
        assert_nearest_rows(y, scale, x.double() * factor.double())


@pytest.mark.parametrize("features", [0, 8])
def test_rows_without_numbers_but_0_have_the_scale_0(features):
    y, scale = torch.ones(2, features, dtype=torch.int8, device=DEVICE), torch.ones(2, device=DEVICE)
    call("aclnnDynamicQuant", torch.zeros(2, features).half(), None, y, scale)
    assert not y.any() and not scale.any()


def test_dynamic_quant_asymmetric():
    x = torch.randn(4, 32).half() + 1
    y, scale, offset = on_npu(torch_npu.npu_dynamic_quant_asymmetric, x)
    largest, least = x.double().amax(-1), x.double().amin(-1)
    expected = (largest - least) / 255
    shift = 127 - largest / expected
    close((scale, offset), (expected, shift))
    assert_nearest(y, x.double() / expected.unsqueeze(-1) + shift.unsqueeze(-1))


@pytest.mark.parametrize(("mode", "dims"), [("perchannel", (-2,)), ("pertensor", (0, 1))])
def test_dynamic_quant_of_columns_and_of_all(mode, dims):
    x = torch.randn(4, 8).half()
    y, scale = on_npu(torch_npu.npu_dynamic_quant, x, quant_mode=mode)
    largest = x.double().abs().amax(dims, True)
    close(scale.flatten(), largest.flatten() / 127)
    assert_nearest(y, x.double() / largest * 127)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_quantize_multiplies_by_the_scale(dtype):
    x, scale, offset = (t.to(dtype) for t in (torch.randn(5, 8) * 60, torch.rand(8) + 1, torch.randn(8)))
    for kind in (torch.qint8, torch.quint4x2):
        y = on_npu(torch_npu.npu_quantize, x, scale, offset, kind, -1, False)
        assert_nearest(y, x.double() * scale.double() + offset.double())


def test_quantize_divides_by_the_scale():
    x, scale, zero = torch.randn(4, 3) * 50, torch.rand(4) + 0.5, torch.randint(-5, 5, (4,), dtype=torch.int32)
    y = on_npu(torch_npu.npu_quantize, x, scale, zero, torch.qint8, 0)
    assert_nearest(y, x.double() / scale.double().unsqueeze(1) + zero.double().unsqueeze(1))


def test_anti_quant():
    x, scale, offset, numbers = torch.randint(-128, 128, (3, 16), dtype=torch.int8), torch.rand(16), torch.randn(16), four_bits(3, 16)
    y = on_npu(torch_npu.npu_anti_quant, x, scale, offset=offset, dst_dtype=torch.float16)
    close(y, (x.double() + offset.double()) * scale.double())
    y = on_npu(torch_npu.npu_anti_quant, words_of(numbers), scale, dst_dtype=torch.float16, src_dtype=torch.quint4x2)
    close(y, numbers * scale.double())


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
    assert torch_npu.npu_convert_weight_to_int4pack(numbers.int().to(DEVICE)).cpu().equal(words_of(numbers))
    halves = torch.zeros(3, 8, dtype=torch.uint8, device=DEVICE)
    call("aclnnConvertWeightToINT4Pack", numbers.int(), half_a_byte(halves, (3, 16)))
    assert halves.cpu().equal(bytes_of(numbers))


def test_rows_of_half_bytes_are_refused():
    odd, words = torch.zeros(3, 3, dtype=torch.uint8, device=DEVICE), "weightInt4Pack: expected rows of four-bit numbers that begin and end"
    refuses(words, "aclnnConvertWeightToINT4Pack", torch.zeros(3, 3, dtype=torch.int32), half_a_byte(odd, (3, 3)))
