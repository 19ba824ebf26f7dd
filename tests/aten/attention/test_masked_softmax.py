"""masked_softmax.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, FLOATS, definitions, drawn

from cases import randn, rows, table, values


def masked_softmax(x, mask):
    weights = (0.5 * x).exp() * ~mask
    return weights / weights.sum(-1, keepdim=True)


MASK = torch.tensor([[True, False, False, True], [False] * 4, [False, True, True, False]])
FLOAT = {"dtypes": (torch.float32,), "close": True}
ROWS = [
    ("aclnnScaledMaskedSoftmax", [drawn(2, 3, 4)], (MASK, 0.5, False), lambda x: masked_softmax(x, MASK), FLOATS),
    (
        "aclnnScaledMaskedSoftmaxBackward",
        [drawn(2, 3, 4), drawn(2, 3, 4).flip(0)],
        lambda g, x: (g, masked_softmax(x.cpu().double(), MASK).to(x.dtype), MASK, 0.5, False),
        lambda g, x: g * 0 + torch.autograd.grad(masked_softmax(leaf := x.requires_grad_(), MASK), leaf, g)[0],
        (torch.float32,),
    ),
]


def torch_masked_softmax(x, mask):
    return torch._masked_softmax(x, mask.expand(x.shape).contiguous(), -1, 2)


CASES = [
    *rows("masked_softmax", torch_masked_softmax, randn(2, 3, 4, 5), values([[False, True, False, False, True]]), **FLOAT),
    *rows("transform_bias_rescale_qkv", lambda *x: torch._transform_bias_rescale_qkv(*x, 2), randn(2, 3, 24), randn(24), **FLOAT),
]
test_definitions = definitions(ROWS)
test_torchs_functions = table(CASES)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_softmax_with_biases(dtype):
    x, mask, bias = (one.to(dtype) for one in (drawn(2, 3, 2, 4, 5), drawn(1, 3, 1, 4, 5), drawn(1, 1, 2, 4, 5)))
    there = [one.to(DEVICE) for one in (x, mask, bias)]
    scores = 0.5 * x.double() + bias.double()
    with_mask = torch_npu.npu_masked_softmax_with_rel_pos_bias(*there, 0.5)
    without = torch_npu.npu_masked_softmax_with_rel_pos_bias(there[0], None, there[2], 0.5)
    torch.testing.assert_close(with_mask.cpu(), (scores + mask.double()).softmax(-1).to(dtype))
    torch.testing.assert_close(without.cpu(), scores.softmax(-1).to(dtype))
