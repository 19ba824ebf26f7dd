"""quant_collective_matmul.cpp against definitions in float64."""

import ctypes

import pytest
import torch
from checks import close, drawn, there
from definitions import rms_norm

from direct import call
from support.communicator import one_rank

OWN = b"a rank alone"
X1, X2, SCALE = drawn(2, 3, 4), drawn(4, 6), drawn(6).abs() / 16
# The operands, their scales, the type of the result, and what is behind the other arguments.
FORMS = {
    "MatmulAllReduceAddRmsNorm": (X1.half(), X2.half(), (), torch.half, ()),
    "QuantMatmulAllReduceAddRmsNorm": ((9 * X1).char(), (9 * X2).char(), (SCALE.bfloat16(),), torch.bfloat16, ()),
    "WeightQuantMatmulAllReduceAddRmsNorm": (X1.half(), (9 * X2).char(), (SCALE.half(), None), torch.half, (ctypes.c_int64(0),)),
}


@pytest.mark.parametrize("inplace", [True, False])
@pytest.mark.parametrize("name", FORMS)
def test_sum_over_ranks_and_its_normal(name, inplace):
    x1, x2, scales, dtype, more = FORMS[name]
    residual, gamma = drawn(2, 3, 6).to(dtype), drawn(6).to(dtype)
    total = x1.double() @ (x2.double() * (scales[0].double() if scales else 1)) + residual.double()
    moved = there(x1, x2, None, *scales, residual, gamma)
    y, out = torch.empty_like(moved[-2]), torch.empty_like(moved[-2])
    results = (out,) if inplace else (y, out)
    with one_rank(OWN):
        call(f"aclnn{'Inplace' if inplace else ''}{name}", *moved, 1e-6, OWN, b"sum", 0, 1, *more, *results)
    close((moved[-2] if inplace else y, out), (total, rms_norm(total, gamma)))
