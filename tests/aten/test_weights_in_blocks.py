"""Products with a weight in FRACTAL_NZ, into which torch_npu casts it, against those of the plain weight in float64."""

import ctypes

import torch_aclnn
import pytest
import torch
import torch.nn.functional as F
import torch_npu
from few_bits import integers, words_of

from cases import DEVICE, close
from direct import refusal
from support.dtypes import Format
from support.marks import of_a2_and_a3

NZ = int(Format.FRACTAL_NZ)


@pytest.fixture(autouse=True)
def private_formats():
    torch_npu.npu.config.allow_internal_format = True  # it cannot be read; False is the default
    yield
    torch_npu.npu.config.allow_internal_format = False


def in_blocks(weight, transposed=False):
    cast = torch_npu.npu_format_cast((weight.mT.contiguous() if transposed else weight).to(DEVICE), NZ)
    assert torch_npu.get_npu_format(cast) == NZ
    return cast.mT if transposed else cast


def assert_called(*names):
    assert {f"aclnn{name}" for name in names} <= torch_aclnn.host.statistics().calls.keys()


@of_a2_and_a3
@pytest.mark.parametrize("transposed", [False, True])
def test_floating_products(transposed):
    self, x, weight, batch = (torch.randn(*shape).half() for shape in ((5, 20), (5, 40), (40, 20), (3, 5, 40)))
    there = in_blocks(weight, transposed)
    close(x.to(DEVICE) @ there, x.double() @ weight.double())
    close(batch.to(DEVICE) @ there, batch.double() @ weight.double())
    close(torch.addmm(self.to(DEVICE), x.to(DEVICE), there, beta=2, alpha=3), 2 * self.double() + 3 * (x.double() @ weight.double()))
    close(F.linear(x.to(DEVICE), there.mT), x.double() @ weight.double())
    assert_called("MatmulWeightNz", "AddmmWeightNz")


def test_permuted_products():
    x, weights = torch.randn(5, 3, 40).half(), torch.randn(3, 40, 20).half()
    got = torch_npu.npu_transpose_batchmatmul(x.to(DEVICE), in_blocks(weights), perm_x1=[1, 0, 2], perm_y=[1, 0, 2])
    close(got, (x.double().transpose(0, 1) @ weights.double()).transpose(0, 1))
    assert_called("TransposeBatchMatMulWeightNz")


@pytest.mark.parametrize("transposed", [False, True])
def test_quantised_products(transposed):
    x, weight, scale, rows = integers(4, 64), integers(64, 40), torch.rand(40) / 100, torch.rand(4)
    there = in_blocks(weight, transposed)
    exact = x.double() @ weight.double() * scale.double() * rows.double().unsqueeze(-1)
    quantised = [x.to(DEVICE), there, scale.to(DEVICE)]
    close(torch_npu.npu_quant_matmul(*quantised, pertoken_scale=rows.to(DEVICE), output_dtype=torch.bfloat16), exact, 8e-3)
    for mode in ("gelu_erf", "gelu_tanh"):
        got = torch_npu.npu_quant_matmul_gelu(x.to(DEVICE), there, rows.to(DEVICE), scale.to(DEVICE), approximate=mode)
        close(got, F.gelu(exact, approximate=mode.removeprefix("gelu_").replace("erf", "none")))
        plain = torch_npu.npu_quant_matmul_gelu(x.to(DEVICE), weight.to(DEVICE), rows.to(DEVICE), scale.to(DEVICE), approximate=mode)
        assert plain.cpu().equal(got.cpu())
    assert_called("QuantMatmulWeightNz", "FusedQuantMatmul", "FusedQuantMatmulWeightNz")


def test_quantised_products_of_four_bits():
    numbers, x = torch.randint(-8, 8, (64, 16)), torch.randn(4, 64).half()
    stored = torch_npu.npu_format_cast(words_of(numbers).to(DEVICE), NZ)
    got = torch_npu.npu_weight_quant_batchmatmul(x.to(DEVICE), stored, torch.ones(16).half().to(DEVICE))
    close(got, x.double() @ numbers.double())


def test_sum_of_quantised_products():
    x, weights, scale, rows = integers(3, 4, 64), integers(3, 64, 40), torch.rand(40).bfloat16(), torch.rand(3, 4)
    got = torch_npu.npu_quant_matmul_reduce_sum(x.to(DEVICE), in_blocks(weights), x1_scale=rows.to(DEVICE), x2_scale=scale.to(DEVICE))
    close(got, ((x.double() @ weights.double()) * rows.double().unsqueeze(-1)).sum(0) * scale.double(), 8e-3)


def test_grouped_products():
    x, weights = torch.randn(6, 40).half(), torch.randn(3, 40, 20).half()
    ends = torch.tensor([2, 2, 6])
    (got,) = torch_npu.npu_grouped_matmul(
        [x.to(DEVICE)], [in_blocks(weights)], group_list=ends.to(DEVICE), split_item=2, group_type=0, group_list_type=0
    )
    close(got, torch.cat((x[:2].double() @ weights[0].double(), x[2:].double() @ weights[2].double())))


def test_a_plain_weight_is_refused():
    x, out = torch.randn(4, 4, device=DEVICE), torch.zeros(4, 4, device=DEVICE)
    code, message = refusal("aclnnMatmulWeightNz", x, x.clone(), out, ctypes.c_int8(0))
    assert code == 161002 and "mat2: expected format FRACTAL_NZ" in message
