"""quant_collective_matmul.cpp against definitions in float64."""

import ctypes

import pytest
import torch
from checks import DEVICE, close, drawn

from direct import call
from support.communicator import one_rank

OWN = b"a rank alone"
NORMALS = [("MatmulAllReduceAddRmsNorm", "plain"), ("QuantMatmulAllReduceAddRmsNorm", "integers"),
           ("WeightQuantMatmulAllReduceAddRmsNorm", "weight")]  # fmt: skip


@pytest.mark.parametrize("inplace", [True, False])
@pytest.mark.parametrize(("name", "form"), NORMALS)
def test_sum_over_ranks_and_its_normal(name, form, inplace):
    x1, x2, residual, gamma = (tensor.half() for tensor in (drawn(2, 3, 4), drawn(4, 6), drawn(2, 3, 6), drawn(6)))
    scales, more = (), ()
    if form == "integers":
        x1, x2 = torch.randint(-9, 9, (2, 3, 4)).to(torch.int8), torch.randint(-9, 9, (4, 6)).to(torch.int8)
    if form == "weight":
        x2 = torch.randint(-9, 9, (4, 6)).to(torch.int8)
    if form != "plain":
        scale = (drawn(6).abs() / 16).to(torch.bfloat16 if form == "integers" else torch.float16)
        residual, gamma = (residual.bfloat16(), gamma.bfloat16()) if form == "integers" else (residual, gamma)
        scales = (scale,) if form == "integers" else (scale, None)
        more = () if form == "integers" else (ctypes.c_int64(0),)
    product = x1.double() @ (x2.double() * (scales[0].double() if scales else 1))
    total = product + residual.double()
    normal = total * (total.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * gamma.double()
    moved = [None if tensor is None else tensor.to(DEVICE) for tensor in (x1, x2, None, *scales, residual, gamma)]
    y, out = torch.empty_like(moved[-2]), torch.empty_like(moved[-2])
    results = (out,) if inplace else (y, out)
    with one_rank(OWN):
        call(f"aclnn{'Inplace' if inplace else ''}{name}", *moved, 1e-6, OWN, b"sum", 0, 1, *more, *results)
    close(moved[-2] if inplace else y, total)
    close(out, normal)
