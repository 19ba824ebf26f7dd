"""fused_matmul.cpp against definitions in float64."""

import ctypes

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, check, close, drawn, on_npu
from few_bits import integers

from direct import call, fails

FUSED = {
    "": lambda product, _: product, "16cast32": lambda product, _: product, "relu": lambda product, _: F.relu(product),
    "gelu_erf": lambda product, _: F.gelu(product), "gelu_tanh": lambda product, _: F.gelu(product, approximate="tanh"),
    "add": torch.add, "mul": torch.mul,
}  # fmt: skip


def quantised(x, scale=None):
    scale = x.abs().amax(1, True) / 127 if scale is None else scale
    return (x / scale).round().clamp(-128, 127), scale


UNITS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu, "fastgelu": lambda x: x * torch.sigmoid(1.702 * x)}


@pytest.mark.parametrize("ends", [True, False])
def test_experts_that_share_rows_by_a_tensor(ends):
    x, first, second = (one.half() for one in (drawn(5, 4), drawn(2, 4, 6), drawn(2, 6, 4)))
    rest, rows = (*[None] * 10, b"relu", 0), x.double().split([2, 3])
    exact = torch.cat([F.relu(rows[i] @ first[i].double()) @ second[i].double() for i in range(2)])
    check("aclnnFFNV3", (x, first, second, torch.tensor([2, 5] if ends else [2, 3]), *rest, ends), exact)
    out = torch.empty(5, 4).half()
    fails(
        "expertTokens: expected the 5 rows of x in all", "aclnnFFNV3", x, first, second, torch.tensor([2, 2]), *rest, False, out,
        code=161002,
    )  # fmt: skip


@pytest.mark.parametrize("operation", FUSED)
def test_fused_matmul(operation):
    x, weight, bias = torch.randn(2, 4, 8).half(), torch.randn(8, 6).half(), torch.randn(6).half()
    third = torch.randn(2, 4, 6).half() if operation in ("add", "mul") else None
    got = on_npu(torch_npu.npu_fused_matmul, x, weight, bias=bias, x3=third, fused_op_type=operation)
    product = x.double() @ weight.double() + bias.double()
    close(got, FUSED[operation](product, None if third is None else third.double()))
    assert got.dtype == (torch.float32 if operation == "16cast32" else torch.float16)


def test_the_first_quantised_products():
    x1, x2, bias = integers(2, 4, 16), integers(2, 16, 6), torch.randint(-999, 999, (6,), dtype=torch.int32)
    out = torch.zeros(2, 4, 6, dtype=torch.half, device=DEVICE)
    call("aclnnQuantMatmul", x1, x2, bias, ctypes.c_float(0.001), out)
    close(out, (x1.double() @ x2.double() + bias.double()) * 0.001)
    scales = torch.rand(16) / 1000
    bits = on_npu(torch_npu.npu_trans_quant_param, scales)
    kept = (scales.view(torch.int32) & -0x2000).view(torch.float32).double()[:6]
    call("aclnnQuantMatmulV2", x1.mT.contiguous(), x2.mT.contiguous(), bias, bits, True, True, out)
    close(out, (x1.double() @ x2.double() + bias.double()) * kept)


@pytest.mark.parametrize("static", [False, True])
def test_quant_matmul_dequant(static):
    x, weight, scale, smooth = torch.randn(5, 32).half(), integers(12, 32), torch.rand(12), torch.rand(32).half() + 0.5
    bias, rows = torch.randint(-99, 99, (12,), dtype=torch.int32), torch.rand(5) / 9 + 0.01
    got = on_npu(torch_npu.npu_quant_matmul_dequant, x, weight, scale, bias=bias, x_scale=rows if static else None, smooth_scale=smooth)
    numbers, of_rows = quantised(x.double() * smooth.double(), rows.double().unsqueeze(1) if static else None)
    close(got, (numbers @ weight.double().T + bias.double()) * scale.double() * of_rows)


@pytest.mark.parametrize("blocks", [False, True])
def test_quant_grouped_matmul_dequant(in_blocks, blocks):
    x, weight, scale, ends = torch.randn(6, 32).half(), integers(3, 16, 32), torch.rand(3, 16), torch.tensor([2, 2, 6])
    got = on_npu(torch_npu.npu_quant_grouped_matmul_dequant, x, in_blocks(weight) if blocks else weight, scale, ends)
    numbers, of_rows = quantised(x.double())
    products = [numbers[a:b] @ weight[i].double().T * scale[i].double() for i, a, b in ((0, 0, 2), (2, 2, 6))]
    close(got, torch.cat(products) * of_rows)


@pytest.mark.parametrize("tokens", [None, {"expert_tokens": [2, 0, 4]}, {"expert_tokens_index": [2, 2, 6]}], ids=str)
@pytest.mark.parametrize("unit", UNITS)
def test_ffn(unit, tokens):
    experts = (3,) if tokens else ()
    x, *layers = (torch.randn(*s).half() for s in ((6, 8), (*experts, 8, 12), (*experts, 12), (*experts, 12, 8), (*experts, 8)))
    w1, b1, w2, b2 = layers
    got = on_npu(torch_npu.npu_ffn, x, w1, w2, unit, bias1=b1, bias2=b2, **(tokens or {}))
    each = [0, 0, 2, 2, 2, 2] if tokens else [...] * 6
    w1, b1, w2, b2 = (t.double() for t in (w1, b1, w2, b2))
    expected = [UNITS[unit](row.double() @ w1[e] + b1[e]) @ w2[e] + b2[e] for row, e in zip(x, each, strict=True)]
    close(got, torch.stack(expected))


def test_ffn_with_quantised_weights():
    x, w1, w2 = torch.randn(4, 8).half(), integers(8, 12), integers(12, 8)
    scales = [torch.rand(n).half() / 50 for n in (12, 8)]
    offsets = [torch.randint(-9, 9, (n,)).half() for n in (12, 8)]
    got = on_npu(
        torch_npu.npu_ffn, x, w1, w2, "relu", antiquant_scale1=scales[0], antiquant_scale2=scales[1], antiquant_offset1=offsets[0],
        antiquant_offset2=offsets[1],
    )  # fmt: skip
    w1, w2 = ((w.double() + o.double()) * s.double() for w, o, s in zip((w1, w2), offsets, scales, strict=True))
    close(got, F.relu(x.double() @ w1) @ w2)


def test_ffn_of_integers():
    x, w1, w2, b1 = integers(4, 8), integers(8, 12), integers(12, 8), torch.randint(-99, 99, (12,), dtype=torch.int32)
    d1, d2, scale, offset = torch.rand(12) / 2000, torch.rand(8) / 1000, torch.tensor([9.0]), torch.tensor([2.0])
    got = on_npu(
        torch_npu.npu_ffn, x, w1, w2, "silu", bias1=b1, scale=scale, offset=offset, deq_scale1=d1, deq_scale2=d2, output_dtype=torch.float16
    )
    hidden = (F.silu((x.double() @ w1.double() + b1.double()) * d1.double()) * 9 + 2).round().clamp(-128, 127)
    close(got, hidden @ w2.double() * d2.double())
