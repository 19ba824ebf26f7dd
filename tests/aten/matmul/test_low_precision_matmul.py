"""low_precision_matmul.cpp against definitions in float64."""

import ctypes
import math

import torch_aclnn
import pytest
import torch
import torch_npu
from checks import DEVICE, close, on_npu
from few_bits import bytes_of

from direct import refuses
from support.marks import of_the_950

pytestmark = of_the_950

FRACTAL_NZ = 29
FOUR_BITS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)


def powers(*shape):
    """Return exponents as bytes, in pairs, and the powers of two, without pairs."""
    codes = torch.randint(124, 131, shape).to(torch.uint8)
    return codes, torch.exp2(codes.double() - 127).flatten(-2)


@pytest.mark.parametrize("sizes", [False, True])
@pytest.mark.parametrize("in_place", [False, True])
def test_sums_of_grouped_products(in_place, sizes):
    ends, kind = [3, 3, 20], torch.float8_e4m3fn
    x1, x2 = torch.randn(20, 5).to(kind), torch.randn(20, 7).to(kind)
    y, scale1, scale2 = torch.randn(3, 5, 7), torch.rand(3), torch.rand(3, 7)
    groups = [slice(0, 3), slice(3, 3), slice(3, 20)]
    expected = torch.stack([x1[rows].double().T @ x2[rows].double() for rows in groups])
    expected = expected * scale2.double().unsqueeze(1) * scale1.double().view(3, 1, 1) + y.double()
    there = y.to(DEVICE)
    listed = torch.tensor([3, 0, 17] if sizes else ends, device=DEVICE)
    own = {"x1_scale": scale1.to(DEVICE), "group_list_type": int(sizes)}
    function = torch_npu.npu_add_quant_gmm_ if in_place else torch_npu.npu_add_quant_gmm
    got = on_npu(function, there, x1.t(), x2, scale2, listed, **own)
    close(got, expected)
    assert there.cpu().equal(got.cpu() if in_place else y)


def test_powers_of_two_of_groups_are_refused():
    x1, x2 = torch.zeros(4, 64).to(torch.float8_e5m2).to(DEVICE), torch.zeros(64, 4).to(torch.float8_e5m2).to(DEVICE)
    scale, y = torch.zeros(1, 4, dtype=torch.uint8).view(torch.float8_e8m0fnu).to(DEVICE), torch.zeros(1, 4, 4, device=DEVICE)
    ends = torch.tensor([64], device=DEVICE)
    refuses(
        "scale2: expected FLOAT: the engine has no powers of two for groups", "aclnnQuantGroupedMatmulInplaceAdd", x1, x2, None, scale,
        ends, y, 0, 0,
    )  # fmt: skip


@pytest.mark.parametrize("with_bias", [False, True])
def test_product_of_two_levels(in_blocks, with_bias):
    rows, inner, columns = 5, 640, 40
    codes1, codes2 = torch.randint(16, (rows, inner)), torch.randint(16, (columns, inner))
    level1_of_x1, powers1 = powers(rows, inner // 64, 2)
    level1_of_x2, powers2 = powers(columns, inner // 64, 2)
    level0_of_x1, level0_of_x2, bias = torch.randn(rows, 2), torch.randn(2, columns), torch.randn(columns)
    x1 = FOUR_BITS[codes1] * powers1.repeat_interleave(32, 1) * level0_of_x1.double().repeat_interleave(512, 1)[:, :inner]
    x2 = FOUR_BITS[codes2] * powers2.repeat_interleave(32, 1) * level0_of_x2.double().T.repeat_interleave(512, 1)[:, :inner]
    weight = on_npu(torch_npu.npu_format_cast, bytes_of(codes2).view(torch.int8), FRACTAL_NZ, customize_dtype=torch.int8)
    scales = [t.to(DEVICE) for t in (level0_of_x1, level0_of_x2, level1_of_x1, level1_of_x2)]
    got = on_npu(
        torch_npu.npu_dual_level_quant_matmul, bytes_of(codes1), weight, *scales, bias=bias if with_bias else None,
        output_dtype=torch.float16,
    )  # fmt: skip
    close(got, x1 @ x2.T + (bias.double() if with_bias else 0), 1e-3)
    assert "aclnnDualLevelQuantMatmulWeightNz" in torch_aclnn.host.statistics().calls


@pytest.mark.parametrize("groups", [(), (2,)])
def test_weight_of_four_bits_in_blocks(in_blocks, groups):
    inner, columns = 40, 20  # the width in bytes, and in numbers
    weight = torch.randint(256, (*groups, columns, inner), dtype=torch.uint8)
    scale, _ = powers(*groups, columns, math.ceil(inner / 32), 2)
    out, out_scale, *rest = on_npu(
        torch_npu.npu_weight_quant_preprocess, weight.mT, scale.transpose(-2, -3), torch.float8_e4m3fn, torch_npu.float4_e2m1fn_x2,
        torch_npu.float8_e8m0fnu, x_scale_dtype=torch_npu.float8_e8m0fnu, k_group_size=32,
    )  # fmt: skip
    torch.npu.synchronize()
    assert out.shape == (*groups, inner, columns) and out_scale.cpu().equal(scale.transpose(-2, -3)) and rest == [None, None]
    # Blocks of 16 columns and 32 numbers, which are 16 bytes, one below the other; the last ones are filled up with zeros.
    filled = torch.zeros(*groups, 32, 48, dtype=torch.uint8)
    filled[..., :columns, :inner] = weight
    blocks = filled.unflatten(-1, (3, 16)).unflatten(-3, (2, 16)).movedim(-2, -4)
    in_memory = (ctypes.c_uint8 * blocks.numel()).from_address(out.data_ptr())
    assert torch.frombuffer(bytearray(in_memory), dtype=torch.uint8).equal(blocks.flatten())
