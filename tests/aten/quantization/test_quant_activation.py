"""quant_activation.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import HALVES, close, on_npu, zeros
from definitions import rms_norm, swiglu
from few_bits import assert_nearest, assert_nearest_rows

from direct import call, refuses


@pytest.mark.parametrize("divide", [True, False])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_add_rms_norm_quant(dtype, divide):
    x1, x2, gamma, beta = (t.to(dtype) for t in (torch.randn(4, 32), torch.randn(4, 32), torch.rand(32), torch.randn(32)))
    scales, shifts = [torch.rand(32) / 20 + 0.02 for _ in range(2)], [torch.randint(-5, 5, (32,), dtype=torch.int32) for _ in range(2)]
    scales = scales if divide else [1 / s for s in scales]
    y1, y2, x = on_npu(
        torch_npu.npu_add_rms_norm_quant, x1, x2, gamma, scales[0], shifts[0], beta, scales[1], shifts[1], epsilon=1e-6, div_mode=divide
    )
    total = x1.double() + x2.double()
    close(x, total)
    for got, scale, zero in zip((y1, y2), scales, shifts, strict=True):
        normal = rms_norm(total, gamma, beta.double())
        assert_nearest(got, (normal / scale.double() if divide else normal * scale.double()) + zero.double())


def test_rms_norm_quant():
    x, gamma, beta = torch.randn(4, 32).half(), torch.rand(32).half(), torch.randn(32).half()
    y = zeros(4, 32, dtype=torch.int8)
    call("aclnnRmsNormQuant", x, gamma, beta, torch.tensor([30.0]).half(), torch.tensor([2], dtype=torch.int8), 1e-6, y)
    assert_nearest(y, rms_norm(x.double(), gamma, beta.double()) * 30 + 2)


@pytest.mark.parametrize("second", [False, True])
def test_add_rms_norm_dynamic_quant(second):
    x1, x2, gamma, *smooth = (t.half() for t in (torch.randn(4, 32), torch.randn(4, 32), torch.rand(32), torch.rand(32), torch.rand(32)))
    y1, y2, x, scale1, scale2 = on_npu(
        torch_npu.npu_add_rms_norm_dynamic_quant, x1, x2, gamma, smooth_scale1=smooth[0], smooth_scale2=smooth[1] if second else None,
        output_mask=[True, second],
    )  # fmt: skip
    total = x1.double() + x2.double()
    close(x, total)
    for y, scale, factor in ((y1, scale1, smooth[0]), (y2, scale2, smooth[1]))[: 1 + second]:
        assert_nearest_rows(y, scale, rms_norm(total, gamma) * factor.double())


@pytest.mark.parametrize("grouped", [None, 0, 1])
@pytest.mark.parametrize("dynamic", [0, 1])
def test_swiglu_quant(dynamic, grouped):
    x, factors, offsets = torch.randn(6, 32), torch.rand(3, 16) * 20, torch.randn(3, 16)
    sizes = torch.tensor([2, 1, 3], dtype=torch.int32)
    index = {None: None, 0: sizes.cumsum(0).int(), 1: sizes}[grouped]
    rows = torch.zeros(6, dtype=torch.int64) if grouped is None else torch.arange(3).repeat_interleave(sizes)
    smooth, shift = (factors, offsets) if grouped is not None else (factors[:1], offsets[:1])
    y, scale = on_npu(
        torch_npu.npu_swiglu_quant, x, smooth_scales=smooth, offsets=None if dynamic else shift, group_index=index, activate_left=True,
        quant_mode=dynamic, group_list_type=grouped or 0,
    )  # fmt: skip
    exact = swiglu(x, True) * factors[rows].double()
    if dynamic:
        assert_nearest_rows(y, 1 / scale, exact)
    else:
        assert_nearest(y, exact + offsets[rows].double())


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("dynamic", [0, 1])
def test_dequant_swiglu_quant(dynamic, integers):
    sizes = torch.tensor([2, 1, 3])
    rows = torch.arange(3).repeat_interleave(sizes)
    x = torch.randint(-1000, 1000, (6, 32), dtype=torch.int32) if integers else torch.randn(6, 32).half()
    weight, activation, factor = torch.rand(3, 32) / 500, torch.rand(6, 1), torch.rand(3, 16) + 0.5
    y, scale = on_npu(
        torch_npu.npu_dequant_swiglu_quant, x, weight_scale=weight if integers else None, activation_scale=activation if integers else None,
        quant_scale=factor if dynamic else (factor / 50), group_index=sizes, activate_left=False, quant_mode=dynamic,
    )  # fmt: skip
    exact = swiglu(x.double() * weight[rows].double() * activation.double() if integers else x, False)
    if dynamic:
        assert_nearest_rows(y, scale, exact * factor[rows].double())
    else:
        assert_nearest(y, exact / (factor / 50)[rows].double())


def test_dequant_swiglu_quant_of_neighbours():
    x = torch.randn(4, 32).half() * 6
    y, scale = on_npu(torch_npu.npu_dequant_swiglu_quant, x, quant_mode=1, swiglu_mode=1, clamp_limit=3.0, glu_alpha=1.5, glu_bias=0.5)
    gate, linear = x.double()[:, ::2].clamp(max=3), x.double()[:, 1::2].clamp(-3, 3)
    assert_nearest_rows(y, scale, gate * torch.sigmoid(1.5 * gate) * (linear + 0.5))


def test_swiglu_quant_to_four_bits():
    x, y, scale = torch.randn(3, 32), zeros(3, 2, dtype=torch.int32), zeros(3)
    call("aclnnSwiGluQuant", x, None, None, None, True, b"dynamic", y, scale)
    assert_nearest_rows(y, 1 / scale, swiglu(x))


def test_the_second_scale_without_the_first_needs_a_mask():
    x, gamma, results = torch.ones(2, 4).half(), torch.ones(4).half(), [torch.int8, torch.int8, torch.half]
    outs = [*(zeros(2, 4, dtype=dtype) for dtype in results), zeros(2), zeros(2)]
    words = "smoothScale1: expected a tensor, as smoothScale2 is given"
    refuses(words, "aclnnAddRmsNormDynamicQuantV2", x, x, gamma, None, gamma, None, 1e-6, None, *outs, code=161001)
