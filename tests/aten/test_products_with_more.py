"""products_with_more.cpp and quantised_experts.cpp against their definitions in float64, by torch_npu's own functions where it has one."""

import ctypes

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from few_bits import integers, near

from cases import DEVICE, close, there
from direct import call, refusal


@pytest.fixture(autouse=True)
def private_formats():
    torch_npu.npu.config.allow_internal_format = True  # it cannot be read; False is the default
    yield
    torch_npu.npu.config.allow_internal_format = False


def in_blocks(weight):
    return torch_npu.npu_format_cast(weight.to(DEVICE), 29)


FUSED = {
    "": lambda product, _: product, "16cast32": lambda product, _: product, "relu": lambda product, _: F.relu(product),
    "gelu_erf": lambda product, _: F.gelu(product), "gelu_tanh": lambda product, _: F.gelu(product, approximate="tanh"),
    "add": torch.add, "mul": torch.mul,
}  # fmt: skip


@pytest.mark.parametrize("operation", FUSED)
def test_fused_matmul(operation):
    x, weight, bias = torch.randn(2, 4, 8).half(), torch.randn(8, 6).half(), torch.randn(6).half()
    third = torch.randn(2, 4, 6).half() if operation in ("add", "mul") else None
    got = torch_npu.npu_fused_matmul(*there(x, weight), bias=bias.to(DEVICE), x3=there(third)[0], fused_op_type=operation)
    product = x.double() @ weight.double() + bias.double()
    close(got, FUSED[operation](product, None if third is None else third.double()))
    assert got.dtype == (torch.float32 if operation == "16cast32" else torch.float16)


def test_the_first_quantised_products():
    x1, x2, bias = integers(2, 4, 16), integers(2, 16, 6), torch.randint(-999, 999, (6,), dtype=torch.int32)
    out = torch.zeros(2, 4, 6, dtype=torch.half, device=DEVICE)
    call("aclnnQuantMatmul", *there(x1, x2, bias), ctypes.c_float(0.001), out)
    close(out, (x1.double() @ x2.double() + bias.double()) * 0.001)
    scales = torch.rand(16) / 1000
    bits = torch.zeros(16, dtype=torch.int64, device=DEVICE)
    call("aclnnTransQuantParamV2", scales.to(DEVICE), None, bits)
    kept = (scales.view(torch.int32) & -0x2000).view(torch.float32).double()[:6]
    call("aclnnQuantMatmulV2", *there(x1.mT.contiguous(), x2.mT.contiguous(), bias), bits, True, True, out)
    close(out, (x1.double() @ x2.double() + bias.double()) * kept)


def test_a_product_that_is_quantised():
    x1, x2, bias = torch.randn(4, 16).half(), torch.randn(16, 6).half(), torch.randn(6).half()
    scale, offset = torch.rand(6) * 9, torch.tensor([3.0])
    bits = torch.zeros(6, dtype=torch.int64, device=DEVICE)
    call("aclnnTransQuantParamV2", *there(scale, offset), bits)
    out = torch.zeros(4, 6, dtype=torch.int8, device=DEVICE)
    call("aclnnBatchMatmulQuant", *there(x1.T.contiguous(), x2), bits, bias.to(DEVICE), True, False, out)
    kept = (scale.view(torch.int32) & -0x2000).view(torch.float32).double()
    assert near(out.cpu(), ((x1.double() @ x2.double() + bias.double()) * kept + 3).clamp(-128, 127))


def quantised(x, scale=None):
    scale = x.abs().amax(1, True) / 127 if scale is None else scale
    return (x / scale).round().clamp(-128, 127), scale


@pytest.mark.parametrize("static", [False, True])
def test_quant_matmul_dequant(static):
    x, weight, scale, smooth = torch.randn(5, 32).half(), integers(12, 32), torch.rand(12), torch.rand(32).half() + 0.5
    bias, rows = torch.randint(-99, 99, (12,), dtype=torch.int32), torch.rand(5) / 9 + 0.01
    got = torch_npu.npu_quant_matmul_dequant(
        *there(x, weight, scale), bias=bias.to(DEVICE), x_scale=rows.to(DEVICE) if static else None, smooth_scale=smooth.to(DEVICE)
    )
    numbers, of_rows = quantised(x.double() * smooth.double(), rows.double().unsqueeze(1) if static else None)
    close(got, (numbers @ weight.double().T + bias.double()) * scale.double() * of_rows)


@pytest.mark.parametrize("blocks", [False, True])
def test_quant_grouped_matmul_dequant(blocks):
    x, weight, scale, ends = torch.randn(6, 32).half(), integers(3, 16, 32), torch.rand(3, 16), torch.tensor([2, 2, 6])
    got = torch_npu.npu_quant_grouped_matmul_dequant(x.to(DEVICE), in_blocks(weight) if blocks else weight.to(DEVICE), *there(scale, ends))
    numbers, of_rows = quantised(x.double())
    products = [numbers[a:b] @ weight[i].double().T * scale[i].double() for i, a, b in ((0, 0, 2), (2, 2, 6))]
    close(got, torch.cat(products) * of_rows)


def test_grouped_matmul_add_by_sizes():
    x, weight, sums = torch.randn(6, 8).half(), torch.randn(6, 4).half(), torch.zeros(2, 8, 4, device=DEVICE)
    call("aclnnGroupedMatmulAddV2", *there(x, weight, torch.tensor([2, 4])), sums, True, False, 2, 1)
    close(sums, torch.stack([x[a:b].double().T @ weight[a:b].double() for a, b in ((0, 2), (2, 6))]))


UNITS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu, "fastgelu": lambda x: x * torch.sigmoid(1.702 * x)}


@pytest.mark.parametrize("tokens", [None, {"expert_tokens": [2, 0, 4]}, {"expert_tokens_index": [2, 2, 6]}], ids=str)
@pytest.mark.parametrize("unit", UNITS)
def test_ffn(unit, tokens):
    experts = (3,) if tokens else ()
    x, *layers = (torch.randn(*s).half() for s in ((6, 8), (*experts, 8, 12), (*experts, 12), (*experts, 12, 8), (*experts, 8)))
    w1, b1, w2, b2 = layers
    got = torch_npu.npu_ffn(*there(x, w1, w2), unit, bias1=b1.to(DEVICE), bias2=b2.to(DEVICE), **(tokens or {}))
    each = [0, 0, 2, 2, 2, 2] if tokens else [...] * 6
    w1, b1, w2, b2 = (t.double() for t in (w1, b1, w2, b2))
    expected = [UNITS[unit](row.double() @ w1[e] + b1[e]) @ w2[e] + b2[e] for row, e in zip(x, each, strict=True)]
    close(got, torch.stack(expected))


def test_ffn_with_quantised_weights():
    x, w1, w2 = torch.randn(4, 8).half(), integers(8, 12), integers(12, 8)
    scales = [torch.rand(n).half() / 50 for n in (12, 8)]
    offsets = [torch.randint(-9, 9, (n,)).half() for n in (12, 8)]
    got = torch_npu.npu_ffn(
        *there(x, w1, w2), "relu", antiquant_scale1=scales[0].to(DEVICE), antiquant_scale2=scales[1].to(DEVICE),
        antiquant_offset1=offsets[0].to(DEVICE), antiquant_offset2=offsets[1].to(DEVICE),
    )  # fmt: skip
    w1, w2 = ((w.double() + o.double()) * s.double() for w, o, s in zip((w1, w2), offsets, scales, strict=True))
    close(got, F.relu(x.double() @ w1) @ w2)


def test_ffn_of_integers():
    x, w1, w2, b1 = integers(4, 8), integers(8, 12), integers(12, 8), torch.randint(-99, 99, (12,), dtype=torch.int32)
    d1, d2, scale, offset = torch.rand(12) / 2000, torch.rand(8) / 1000, torch.tensor([9.0]), torch.tensor([2.0])
    got = torch_npu.npu_ffn(
        *there(x, w1, w2), "silu", bias1=b1.to(DEVICE), scale=scale.to(DEVICE), offset=offset.to(DEVICE), deq_scale1=d1.to(DEVICE),
        deq_scale2=d2.to(DEVICE), output_dtype=torch.float16,
    )  # fmt: skip
    hidden = (F.silu((x.double() @ w1.double() + b1.double()) * d1.double()) * 9 + 2).round().clamp(-128, 127)
    close(got, hidden @ w2.double() * d2.double())


def swiglu_of(x, weight, scale, rows, groups):
    parts = [x[a:b].double() @ weight[i].double() * scale[i].double() * rows[a:b].double().unsqueeze(1) for i, a, b in groups]
    gate, linear = torch.cat(parts).chunk(2, 1)
    exact = F.silu(gate) * linear
    return exact, exact.abs().amax(1) / 127


@pytest.mark.parametrize("version", [1, 2])
def test_grouped_matmul_swiglu_quant(version):
    x, weight, scale, rows = integers(6, 32), integers(3, 32, 64), torch.rand(3, 64) / 50, torch.rand(6) / 50
    ends = torch.tensor([2, 2, 6])
    if version == 1:
        y, y_scale, _ = torch_npu.npu_grouped_matmul_swiglu_quant(x.to(DEVICE), in_blocks(weight), *there(ends, scale, rows))
    else:
        y, y_scale = torch_npu.npu_grouped_matmul_swiglu_quant_v2(x.to(DEVICE), [in_blocks(weight)], [scale.to(DEVICE)], *there(rows, ends))
    exact, expected = swiglu_of(x, weight, scale, rows, ((0, 0, 2), (2, 2, 6)))
    close(y_scale, expected, 1e-5)
    assert near(y.cpu(), exact / expected.unsqueeze(1))


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("routed", [False, True])
def test_grouped_matmul_finalize_routing(routed, blocks):
    x, weight, scale, rows = integers(6, 16), integers(2, 16, 32), torch.rand(2, 32) / 50, torch.rand(6)
    logit, places, shared = torch.rand(6), torch.tensor([2, 0, 1, 1, 0, 3]), torch.randn(2, 32).bfloat16()
    options = {"shared_input": shared.to(DEVICE), "logit": logit.to(DEVICE), "shared_input_weight": 0.5, "shared_input_offset": 1}
    got = torch_npu.npu_grouped_matmul_finalize_routing(
        x.to(DEVICE), in_blocks(weight) if blocks else weight.to(DEVICE), torch.tensor([4, 2], device=DEVICE), scale=scale.to(DEVICE),
        pertoken_scale=rows.to(DEVICE), row_index=places.to(DEVICE), output_bs=4, **(options if routed else {}),
    )  # fmt: skip
    products = torch.cat([x[a:b].double() @ weight[i].double() * scale[i].double() for i, a, b in ((0, 0, 4), (1, 4, 6))])
    products = products * rows.double().unsqueeze(1) * (logit.double().unsqueeze(1) if routed else 1)
    expected = torch.zeros(4, 32, dtype=torch.float64)
    if routed:
        expected[1:3] = shared.double() / 2
    close(got, expected.index_add(0, places, products), 1e-5)


def test_gates_are_refused_by_name():
    x = torch.zeros(2, 2, dtype=torch.half, device=DEVICE)
    arguments = [x, x.clone(), x.clone(), None, *[None] * 10, b"swiglu", 0, x.clone()]
    code, message = refusal("aclnnFFN", *arguments)
    assert code == 161002 and "activation: expected fastgelu, gelu, relu or silu" in message
