"""mx_quantization.cpp against definitions in float64."""

import math

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, close, on_npu
from definitions import swiglu
from few_bits import EIGHT_BITS, powers_of_two

from direct import call, refuses
from support.marks import of_the_950

pytestmark = of_the_950

FOUR_BITS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)


def four_bit_numbers(packed):
    codes = torch.stack((packed.cpu() & 15, packed.cpu() >> 4), -1).flatten(-2).long()
    return FOUR_BITS[codes & 7] * torch.where(codes > 7, -1, 1)


def in_four_bits(x, rounding="rint"):
    """Round by counting numbers that are not above; of two that are as near take the one with an even code, the larger or the lower."""
    size = x.abs().clamp(max=6)
    low = torch.stack([size >= number for number in FOUR_BITS[1:]]).sum(0)
    high = (low + 1).clamp(max=7)
    middle = (FOUR_BITS[low] + FOUR_BITS[high]) / 2
    up = {
        "rint": (size > middle) | ((size == middle) & (low % 2 == 1)), "round": size >= middle, "floor": (x < 0) & (size > FOUR_BITS[low])
    }[rounding]  # fmt: skip
    return FOUR_BITS[torch.where(up, high, low)] * torch.sign(x)


def dual(x, name, got):
    y1, scale1, y2, scale2 = got
    check_eight_bits(x, -1, name, y1, scale1)
    check_eight_bits(x, -2, name, y2, scale2)


def hifloat8(code):
    """From the bits as text: sign, prefix of the exponent's length, exponent, mantissa."""
    bits = f"{code:08b}"
    for prefix, length in (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0)):
        if bits[1:].startswith(prefix):
            rest = bits[1 + len(prefix) :]
            exponent = int("1" + rest[1:length], 2) if length else 0
            size = 2.0 ** (-exponent if rest[:length][:1] == "1" else exponent) * (1 + int(rest[length:], 2) / 2 ** len(rest[length:]))
            break
    else:
        size = 2.0 ** (int(bits[5:], 2) - 23) if int(bits[5:], 2) else math.nan if code == 128 else 0.0
    return -size if bits[0] == "1" else math.inf if code == 0x6F else size


def groups_of(x, ends):
    """Each group of rows, with where its scales begin if blocks of so many rows have one."""
    starts = [0, *ends[:-1]]
    return [(x[..., start:end, :], start, number) for number, (start, end) in enumerate(zip(starts, ends, strict=True))]


def check_eight_bits(x, axis, name, y, scale, block=32):
    dtype, emax, largest = EIGHT_BITS[name]
    scales, expected = powers_of_two(x, axis, emax, block)
    assert scale.cpu().view(torch.uint8).equal(expected)
    assert y.dtype == dtype and y.cpu().double().equal((x.double() / scales).clamp(-largest, largest).float().to(dtype).double())


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("name", EIGHT_BITS)
def test_dynamic_mx_quant(name, axis):
    x = torch.randn(3, 70, 41).half() * torch.logspace(-3, 2, 41).half()
    x[0, 32:64] = 0
    y, scale = on_npu(torch_npu.npu_dynamic_mx_quant, x, axis=axis, dst_type=getattr(torch_npu, name))
    check_eight_bits(x, axis, name, y, scale)


@pytest.mark.parametrize("rounding", ["rint", "round", "floor"])
def test_dynamic_mx_quant_to_four_bits(rounding):
    x = torch.randn(5, 96).bfloat16()
    y, scale = on_npu(torch_npu.npu_dynamic_mx_quant, x, round_mode=rounding, block_size=64)
    scales, expected = powers_of_two(x, -1, 2, 64)
    assert scale.cpu().equal(expected)
    assert four_bit_numbers(y).equal(in_four_bits(x.double() / scales, rounding))


def test_anti_mx_quant():
    x = torch.randn(4, 70).half()
    y, scale = on_npu(torch_npu.npu_dynamic_mx_quant, x, dst_type=torch_npu.float8_e5m2)
    got = torch_npu.npu_anti_mx_quant(y, scale.view(torch.float8_e8m0fnu), dst_type=5, src_type=torch_npu.float8_e5m2)
    assert got.cpu().double().equal(y.cpu().double() * powers_of_two(x, -1, 15)[0])
    packed, scale = on_npu(torch_npu.npu_dynamic_mx_quant, x)
    got = torch_npu.npu_anti_mx_quant(packed, scale.view(torch.float8_e8m0fnu), dst_type=15, src_type=torch_npu.float4_e2m1fn_x2)
    assert got.cpu().double().equal(four_bit_numbers(packed) * powers_of_two(x, -1, 2)[0])


def test_dynamic_mx_quant_with_dual_axis():
    x = torch.randn(2, 70, 40).bfloat16()
    dual(x, "float8_e5m2", torch_npu.npu_dynamic_mx_quant_with_dual_axis(x.to(DEVICE), dst_type=torch_npu.float8_e5m2))


def test_dynamic_dual_level_mx_quant():
    x = torch.randn(3, 600).half()
    y, level0, level1 = on_npu(torch_npu.npu_dynamic_dual_level_mx_quant, x)
    parts = x.double().split(512, 1)
    scale = torch.stack([part.abs().amax(1) / 6 for part in parts], 1)
    close(level0, scale)
    left = torch.cat([part / scale[:, i : i + 1] for i, part in enumerate(parts)], 1).half()
    scales, expected = powers_of_two(left, -1, 2)
    assert level1.cpu().equal(expected)
    assert four_bit_numbers(y).equal(in_four_bits(left.double() / scales))


@pytest.mark.parametrize("left", [False, True])
def test_swiglu_mx_quant(left):
    x, kind = torch.randn(40, 128).half(), torch_npu.float8_e4m3fn
    y, scale = on_npu(torch_npu.npu_swiglu_mx_quant, x, activate_left=left, dst_type=kind)
    check_eight_bits(swiglu(x.double(), left), -1, "float8_e4m3fn", y, scale)
    got = on_npu(torch_npu.npu_swiglu_mx_quant_with_dual_axis, x, activate_left=left, dst_type=kind, scale_alg=0)
    dual(swiglu(x.double(), left), "float8_e4m3fn", got)


def test_swiglu_mx_quant_of_pairs():
    x = torch.randn(4, 128).half() * 5
    y, scale = on_npu(torch_npu.npu_swiglu_mx_quant, x, swiglu_mode=1, clamp_limit=4, dst_type=torch_npu.float8_e4m3fn)
    gate, linear = x[:, ::2].double().clamp(max=4), x[:, 1::2].double().clamp(-4, 4)
    check_eight_bits(gate * torch.sigmoid(1.702 * gate) * (linear + 1), -1, "float8_e4m3fn", y, scale)


@pytest.mark.parametrize("left", [False, True])
def test_swiglu_backward_mx_quant(left):
    x, grad = torch.randn(40, 128).half(), torch.randn(40, 64).half()
    exact = x.double().requires_grad_()
    swiglu(exact, left).backward(grad.double())
    kind = torch_npu.float8_e5m2
    got = on_npu(torch.ops.npu._npu_swiglu_backward_mx_quant_with_dual_axis, x, grad, activate_left=left, dst_type=kind, scale_alg=0)
    dual(exact.grad, "float8_e5m2", got)


@pytest.mark.parametrize("add", [False, True])
def test_rms_norm_dynamic_mx_quant(add):
    x1, x2, gamma, beta = (torch.randn(*s).half() for s in ((4, 96), (4, 96), (96,), (96,)))
    options = {"beta": beta.to(DEVICE), "dst_type": torch_npu.float8_e4m3fn}
    total = x1.double() + x2.double() if add else x1.double()
    if add:
        y, x, scale, _ = on_npu(torch_npu.npu_add_rms_norm_dynamic_mx_quant, x1, x2, gamma, **options)
        close(x, total, 1e-3)
    else:
        y, scale, _ = on_npu(torch_npu.npu_rms_norm_dynamic_mx_quant, x1, gamma, **options)
    check_eight_bits(F.rms_norm(total, (96,), gamma.double(), 1e-6) + beta.double(), -1, "float8_e4m3fn", y, scale)


def test_quant_max_to_hifloat8():
    numbers = torch.tensor([hifloat8(code) if code != 0xEF else -math.inf for code in range(256)], dtype=torch.float64)
    finite = numbers[numbers.isfinite()]
    assert finite.max() == 32768 and finite.unique().numel() == 253
    x, scale = torch.cat((torch.randn(300) * 3, torch.logspace(-8, 5, 200))), torch.tensor([0.5])
    y, largest = on_npu(torch_npu.npu_quant_max, x, scale, round_mode="round", dst_dtype=torch_npu.hifloat8)
    exact = (x.double() * 2).clamp(-32768, 32768)
    got = numbers[y.cpu().view(torch.uint8).long()]
    assert ((got - exact).abs() == (finite - exact.unsqueeze(1)).abs().amin(1)).all()
    assert largest.item() == x.abs().max()


@pytest.mark.parametrize("grouped", [False, True])
def test_quant_max(grouped):
    x, ends = torch.randn(8, 20).half(), torch.tensor([3, 3, 8])
    scale = torch.rand(3 if grouped else 1) + 0.1
    options = {"group_list": ends.to(DEVICE)} if grouped else {}
    y, largest = on_npu(torch_npu.npu_quant_max, x, scale, dst_dtype=torch_npu.float8_e4m3fn, **options)
    rows = scale[[0, 0, 0, 2, 2, 2, 2, 2]].unsqueeze(1) if grouped else scale
    assert y.cpu().float().equal((x.float() / rows).to(torch.float8_e4m3fn).float())
    parts = [x[:3], x[3:3], x[3:]] if grouped else [x]
    assert largest.cpu().tolist() == [part.abs().max().item() if part.numel() else 0 for part in parts]


def test_rounding_to_eight_bits_is_to_the_nearest():
    x, y = torch.zeros(2, 32, device=DEVICE).half(), torch.empty(2, 32, dtype=torch.float8_e5m2, device=DEVICE)
    scale = torch.zeros(2, 1, 2, dtype=torch.uint8, device=DEVICE).view(torch.float8_e8m0fnu)
    refuses("roundMode: expected rint, as y has eight bits", "aclnnDynamicMxQuant", x, -1, b"floor", 35, 32, 0, y, scale)
    call("aclnnDynamicMxQuant", x, -1, b"rint", 35, 32, 0, y, scale)
    assert not scale.cpu().view(torch.uint8).any()


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_grouped_dynamic_mx_quant(name):
    ends = [40, 40, 170, 200]
    x = torch.randn(200, 5).half() * torch.logspace(-3, 2, 5).half()
    group_index = torch.tensor(ends, dtype=torch.int32)
    y, scale = on_npu(
        torch_npu.npu_grouped_dynamic_mx_quant, x, group_index, round_mode="rint", dst_type=getattr(torch_npu, name), blocksize=32
    )
    assert scale.shape == (200 // 64 + 4, 5, 2)
    rest = scale.view(torch.uint8)
    for part, start, number in groups_of(x, ends):
        if len(part):
            own = slice(start // 64 + number, start // 64 + number + math.ceil(len(part) / 64))
            check_eight_bits(part, 0, name, y[start : start + len(part)], scale[own])
            rest[own] = 0
    assert not rest.any()


def test_dynamic_block_mx_quant():
    x = torch.randn(2, 70, 40).bfloat16() * torch.logspace(-2, 2, 40).bfloat16()
    y, scale1, scale2 = on_npu(torch_npu.npu_dynamic_block_mx_quant, x, dst_type=torch_npu.float8_e4m3fn)
    squares = [row.split(32, 2) for row in x.double().split(32, 1)]
    of_rows, of_columns = torch.zeros(2, 70, 4, dtype=torch.uint8), torch.zeros(2, 4, 40, dtype=torch.uint8)
    for i, row in enumerate(squares):
        for j, square in enumerate(row):
            exponent = torch.floor(torch.log2(square.abs().amax((1, 2)))) - 8
            of_rows[:, 32 * i : 32 * i + 32, j] = (exponent + 127).to(torch.uint8)[:, None]
            of_columns[:, i, 32 * j : 32 * j + 32] = (exponent + 127).to(torch.uint8)[:, None]
            got = y.cpu().double()[:, 32 * i : 32 * i + 32, 32 * j : 32 * j + 32]
            assert got.equal((square / 2 ** exponent[:, None, None]).clamp(-448, 448).float().to(torch.float8_e4m3fn).double())
    assert scale1.cpu().view(torch.uint8).equal(of_rows[..., :2].unflatten(2, (1, 2)))
    assert scale2.cpu().view(torch.uint8).equal(of_columns.unflatten(1, (2, 2)).transpose(2, 3))


@pytest.mark.parametrize("rows", [1, 128])
@pytest.mark.parametrize("smallest", [0.0, 400.0])
def test_grouped_dynamic_block_quant(rows, smallest):
    ends, x = [130, 130, 300], torch.randn(2, 300, 70).half()
    y, scale = on_npu(
        torch_npu.npu_grouped_dynamic_block_quant, x, torch.tensor(ends, dtype=torch.int32), min_scale=smallest, dst_type=292,
        row_block_size=rows, col_block_size=64,
    )  # fmt: skip
    expected, numbers = torch.zeros(2, 300 // rows + 3, 2, dtype=torch.float64), x.double().clone()
    for part, start, number in groups_of(numbers, ends):
        for i, block_of_rows in enumerate(part.split(rows, 1) if part.shape[1] else ()):
            for j, block in enumerate(block_of_rows.split(64, 2)):
                by = block.abs().amax((1, 2)) / 448
                by = by.clamp(max=1 / smallest) if smallest else by
                expected[:, start // rows + number + i, j] = by
                block /= by[:, None, None].where(by[:, None, None] > 0, 1)
    close(scale, expected)
    assert y.cpu().double().equal(numbers.clamp(-448, 448).float().to(torch.float8_e4m3fn).double())


@pytest.mark.parametrize("grouped", [False, True])
def test_swiglu_group_quant(grouped):
    x, weight, counts = torch.randn(8, 16), torch.randn(8, 1), torch.tensor([3, 0, 4]) if grouped else None
    first, second = x.double().chunk(2, 1)
    plain = F.silu(first.clamp(max=0.5)) * second.clamp(-0.5, 0.5) * weight.double()
    y, scale, origin = on_npu(
        torch_npu.npu_swiglu_group_quant, x, weight=weight, group_index=counts, quant_mode=3, dst_type=torch_npu.hifloat8, clamp_limit=0.5,
        dst_type_max=15.0, output_origin=True,
    )  # fmt: skip
    close(origin, plain)
    parts = plain[:7].split([3, 0, 4]) if grouped else [plain]
    by = torch.stack([part.abs().max() / 15 if part.numel() else torch.tensor(1e-8 / 15).double() for part in parts])
    close(scale, by)
    got = torch.tensor([hifloat8(code) for code in y.cpu().flatten().tolist()], dtype=torch.float64).view(8, 8)
    exact = torch.cat([part / s for part, s in zip(parts, by, strict=True)])
    assert ((got[: len(exact)] - exact).abs() <= exact.abs() / 8 + 2.0**-22).all()  # three bits of mantissa near 1, two up to 16
    assert not grouped or got[7:].eq(0).all()
