"""weight_quant_matmul.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, HALVES, close, on_npu
from few_bits import assert_nearest, four_bits, integers, words_of

from support.marks import of_the_950


@of_the_950
@pytest.mark.parametrize("factor", [1, 2])
def test_permuted_products(factor):
    x, weight = (torch.randn(*s).to(torch.float8_e5m2) for s in ((5, 2, 32), (2, 32, 8)))
    rows, columns = torch.rand(5), torch.rand(8)
    got = on_npu(
        torch_npu.npu_transpose_quant_batchmatmul, x, weight, dtype=torch.bfloat16, x1_scale=rows, x2_scale=columns,
        batch_split_factor=factor,
    )  # fmt: skip
    exact = torch.einsum("mbk,bkn->mbn", x.double(), weight.double()) * rows.double().view(-1, 1, 1) * columns.double()
    close(got, exact if factor == 1 else exact.transpose(0, 1).double(), 8e-3)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("group", [0, 32])
@pytest.mark.parametrize("bits", [8, 4])
def test_weight_quant_batchmatmul(bits, group, dtype):
    rows = 2 if group else 1
    x, weight = torch.randn(3, 64).to(dtype), four_bits(64, 8) if bits == 4 else integers(64, 8)
    scale, offset, bias = torch.rand(rows, 8).to(dtype), torch.randn(rows, 8).to(dtype), torch.randn(8)
    bias = bias if dtype == torch.bfloat16 else bias.half()
    stored = words_of(weight) if bits == 4 else weight
    got = on_npu(torch_npu.npu_weight_quant_batchmatmul, x, stored, scale, offset, bias=bias, antiquant_group_size=group)
    each = (lambda t: t.double().repeat_interleave(32, 0)) if group else torch.Tensor.double
    expected = x.double() @ ((weight.double() + each(offset)) * each(scale)) + bias.double()
    torch.testing.assert_close(got.cpu(), expected.to(dtype), rtol=8e-3, atol=1e-3)


def test_weight_quant_batchmatmul_to_bytes():
    x, weight, scale = torch.randn(3, 32).half(), integers(32, 8), torch.rand(8).half()
    quarter = torch.full((8,), 0.25).to(DEVICE)
    got = on_npu(torch_npu.npu_weight_quant_batchmatmul, x, weight, scale, quant_scale=quarter)
    assert_nearest(got, (x.double() @ (weight.double() * scale.double()) / 4))


def test_quantised_products_of_four_bits(in_blocks):
    numbers, x = torch.randint(-8, 8, (64, 16)), torch.randn(4, 64).half()
    stored = in_blocks(words_of(numbers))
    got = on_npu(torch_npu.npu_weight_quant_batchmatmul, x, stored, torch.ones(16).half())
    close(got, x.double() @ numbers.double())
