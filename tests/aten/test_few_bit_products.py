"""few_bit_products.cpp and quantised_attention.cpp, of the 950 alone, against definitions in float64; test_few_bit_floats.py starts it."""

import ctypes
import math

import torch_aclnn
import pytest
import torch
import torch_npu
from few_bits import bytes_of

from cases import DEVICE, close
from direct import call, refusal
from support.communicator import one_rank
from support.marks import PRODUCT

pytestmark = pytest.mark.skipif(PRODUCT != "950", reason="floating point numbers of few bits are of the 950")
FRACTAL_NZ, OWN = 29, b"a rank alone"
FOUR_BITS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)


@pytest.fixture(autouse=True)
def private_formats():
    torch_npu.npu.config.allow_internal_format = True  # it cannot be read; False is the default
    yield
    torch_npu.npu.config.allow_internal_format = False


def powers(*shape):
    """Exponents in pairs, as bytes, and the powers of two one by one."""
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
    got = function(there, x1.to(DEVICE).t(), x2.to(DEVICE), scale2.to(DEVICE), listed, **own)
    close(got, expected)
    assert there.cpu().equal(got.cpu() if in_place else y)


def test_powers_of_two_of_groups_are_refused():
    x1, x2 = torch.zeros(4, 64).to(torch.float8_e5m2).to(DEVICE), torch.zeros(64, 4).to(torch.float8_e5m2).to(DEVICE)
    scale, y = torch.zeros(1, 4, dtype=torch.uint8).view(torch.float8_e8m0fnu).to(DEVICE), torch.zeros(1, 4, 4, device=DEVICE)
    ends = torch.tensor([64], device=DEVICE)
    code, message = refusal("aclnnQuantGroupedMatmulInplaceAdd", x1, x2, None, scale, ends, y, 0, 0)
    assert code == 161002 and "scale2: expected FLOAT: the engine has no powers of two for groups" in message


@pytest.mark.parametrize("with_bias", [False, True])
def test_product_of_two_levels(with_bias):
    rows, inner, columns = 5, 640, 40
    codes1, codes2 = torch.randint(16, (rows, inner)), torch.randint(16, (columns, inner))
    level1_of_x1, powers1 = powers(rows, inner // 64, 2)
    level1_of_x2, powers2 = powers(columns, inner // 64, 2)
    level0_of_x1, level0_of_x2, bias = torch.randn(rows, 2), torch.randn(2, columns), torch.randn(columns)
    x1 = FOUR_BITS[codes1] * powers1.repeat_interleave(32, 1) * level0_of_x1.double().repeat_interleave(512, 1)[:, :inner]
    x2 = FOUR_BITS[codes2] * powers2.repeat_interleave(32, 1) * level0_of_x2.double().T.repeat_interleave(512, 1)[:, :inner]
    weight = torch_npu.npu_format_cast(bytes_of(codes2).view(torch.int8).to(DEVICE), FRACTAL_NZ, customize_dtype=torch.int8)
    scales = [t.to(DEVICE) for t in (level0_of_x1, level0_of_x2, level1_of_x1, level1_of_x2)]
    got = torch_npu.npu_dual_level_quant_matmul(
        bytes_of(codes1).to(DEVICE), weight, *scales, bias=bias.to(DEVICE) if with_bias else None, output_dtype=torch.float16
    )
    close(got, x1 @ x2.T + (bias.double() if with_bias else 0), 1e-3)
    assert "aclnnDualLevelQuantMatmulWeightNz" in torch_aclnn.host.statistics().calls


@pytest.mark.parametrize("groups", [(), (2,)])
def test_weight_of_four_bits_in_blocks(groups):
    inner, columns = 40, 20  # in bytes, and in numbers
    weight = torch.randint(256, (*groups, columns, inner), dtype=torch.uint8)
    scale, _ = powers(*groups, columns, math.ceil(inner / 32), 2)
    out, out_scale, *rest = torch_npu.npu_weight_quant_preprocess(
        weight.to(DEVICE).mT, scale.to(DEVICE).transpose(-2, -3), torch.float8_e4m3fn, torch_npu.float4_e2m1fn_x2,
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
    type_of_query = torch_npu.float8_e4m3fn
    p_scale = None if factor is None else torch.tensor([factor], device=DEVICE)
    names = ("d_scale_q", "d_scale_k", "d_scale_v")
    out, maximum, total, *_ = torch_npu.npu_quant_fusion_attention(
        *there[:3], 4, layout, scale=0.125, p_scale=p_scale, query_dtype=type_of_query, **dict(zip(names, scales[:3], strict=True))
    )

    def plain(x):
        return x if layout == "BNSD" else x.transpose(1, 2)

    close(plain(out), expected, 8e-3)
    close(maximum, scores.amax(-1, keepdim=True))
    close(total, rounded.sum(-1, keepdim=True), 1e-3)

    # From statistics that are not those of the forward, so that what is used is what was given.
    sums = powers_of_e.sum(-1, keepdim=True) * 1.25
    probabilities = powers_of_e / sums
    attended = torch.randn(2, 4, 300, 8).bfloat16()
    of_scores = (grad @ value.mT - (attended.double() * grad).sum(-1, keepdim=True)) * probabilities
    of_scores = eight_bits(of_scores, 3.5) * 0.125
    ds_scale = torch.tensor([3.5], device=DEVICE)
    got = torch_npu.npu_quant_fusion_attention_backward(
        *there, 4, layout, *scales, p_scale=p_scale, ds_scale=ds_scale, softmax_max=maximum, softmax_sum=sums.float().to(DEVICE),
        attention_in=plain(attended).contiguous().to(DEVICE), scale_value=0.125, query_dtype=type_of_query,
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
    code, message = refusal("aclnnQuantFlashAttentionScore", *arguments)
    assert code == 161002 and "dScaleQ: expected 4 dimensions, and a scale for each 128, 256 or 512 of 300 positions" in message


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
    assert not out[..., 5:, :].any() and out[..., :5, :].any()  # which sees nothing


@pytest.mark.parametrize(("change", "message"), [
    ({"permuteOut": torch.float8_e5m2}, "permuteOut: expected rows of FLOAT8_E4M3FN, as gmmX has, got FLOAT8_E5M2"),
    ({"gmmXScale": torch.uint8}, "gmmXScale: expected a data type of FLOAT, FLOAT8_E8M0"),
    ({"gmmXQuantMode": 1}, "gmmWeightQuantMode: expected a value in 1..1, got 6"),
    ({"groupSize": 32}, "groupSize: expected 0, or 1, 1 and 32, got 32"),
])  # fmt: skip
def test_what_does_not_fit_the_rows_of_experts_is_refused(change, message):
    def made(shape, dtype):
        return torch.zeros(shape, dtype=torch.uint8, device=DEVICE).view(dtype)

    mode = change.get("gmmXQuantMode", 6)
    arguments = [
        made((2, 64), torch.float8_e4m3fn), made((1, 64, 3), torch.float8_e4m3fn),
        made((2, 1, 2), change.get("gmmXScale", torch.float8_e8m0fnu)), made((1, 1, 3, 2), torch.float8_e8m0fnu), *[None] * 6,
        mode, 6, 0, 0, OWN, 1, [2], [2], False, False, change.get("groupSize", 0), True, torch.empty(2, 3, device=DEVICE).half(), None,
        made((2, 64), change.get("permuteOut", torch.float8_e4m3fn)),
    ]  # fmt: skip
    with one_rank(OWN):
        code, text = refusal("aclnnAlltoAllvQuantGroupedMatMul", *arguments)
    assert code == 161002 and message in text
