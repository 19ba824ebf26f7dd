"""quant_grouped_matmul.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, close, on_npu
from definitions import swiglu
from few_bits import assert_nearest_rows, integers


@pytest.mark.parametrize("version", [1, 2])
def test_grouped_matmul_swiglu_quant(in_blocks, version):
    x, weight, scale, rows = integers(6, 32), integers(3, 32, 64), torch.rand(3, 64) / 50, torch.rand(6) / 50
    ends = torch.tensor([2, 2, 6])
    if version == 1:
        y, y_scale, _ = on_npu(torch_npu.npu_grouped_matmul_swiglu_quant, x, in_blocks(weight), ends, scale, rows)
    else:
        y, y_scale = on_npu(torch_npu.npu_grouped_matmul_swiglu_quant_v2, x, [in_blocks(weight)], [scale], rows, ends)
    products = [x[a:b].double() @ weight[i].double() * scale[i].double() for i, a, b in ((0, 0, 2), (2, 2, 6))]
    assert_nearest_rows(y, y_scale, swiglu(torch.cat(products) * rows.double().unsqueeze(1)))


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("routed", [False, True])
def test_grouped_matmul_finalize_routing(in_blocks, routed, blocks):
    x, weight, scale, rows = integers(6, 16), integers(2, 16, 32), torch.rand(2, 32) / 50, torch.rand(6)
    logit, places, shared = torch.rand(6), torch.tensor([2, 0, 1, 1, 0, 3]), torch.randn(2, 32).bfloat16()
    options = {"shared_input": shared.to(DEVICE), "logit": logit.to(DEVICE), "shared_input_weight": 0.5, "shared_input_offset": 1}
    got = on_npu(
        torch_npu.npu_grouped_matmul_finalize_routing, x, in_blocks(weight) if blocks else weight, torch.tensor([4, 2], device=DEVICE),
        scale=scale, pertoken_scale=rows, row_index=places, output_bs=4, **(options if routed else {}),
    )  # fmt: skip
    products = torch.cat([x[a:b].double() @ weight[i].double() * scale[i].double() for i, a, b in ((0, 0, 4), (1, 4, 6))])
    products = products * rows.double().unsqueeze(1) * (logit.double().unsqueeze(1) if routed else 1)
    expected = torch.zeros(4, 32, dtype=torch.float64)
    if routed:
        expected[1:3] = shared.double() / 2
    close(got, expected.index_add(0, places, products), 1e-5)
