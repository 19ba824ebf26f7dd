"""masked_softmax.cpp against definitions in float64."""

import torch
import torch_npu
from checks import FLOATS, definitions, drawn

from cases import randn, rows, table, values

FLOAT = {"dtypes": (torch.float32,), "close": True}
with_biases = torch_npu.npu_masked_softmax_with_rel_pos_bias
X, BIAS = drawn(2, 3, 2, 4, 5), drawn(1, 1, 2, 4, 5)
ROWS = [
    (with_biases, [X, drawn(1, 3, 1, 4, 5), BIAS], lambda *x: (*x, 0.5), lambda x, mask, b: (0.5 * x + mask + b).softmax(-1), FLOATS),
    (with_biases, [X, BIAS], lambda x, bias: (x, None, bias, 0.5), lambda x, bias: (0.5 * x + bias).softmax(-1), FLOATS),
]


by_mask = lambda x, mask: torch._masked_softmax(x, mask.expand(x.shape).contiguous(), -1, 2)
CASES = [
    *rows("masked_softmax", by_mask, randn(2, 3, 4, 5), values([[False, True, False, False, True]]), **FLOAT),
    *rows("transform_bias_rescale_qkv", lambda *x: torch._transform_bias_rescale_qkv(*x, 2), randn(2, 3, 24), randn(24), **FLOAT),
]
test_definitions = definitions(ROWS)
test_torchs_functions = table(CASES)
