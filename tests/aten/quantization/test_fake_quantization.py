"""fake_quantization.cpp against definitions in float64."""

import torch

from cases import constant, randn, rows, table, values

QUANTIZED = constant(values([0.1, 0.25, 0.5, 0.3])), values([0, 1, -2, 3], dtype=torch.int32)
by_channel = lambda *x: torch.fake_quantize_per_channel_affine(*x, 1, -8, 7)
as_a_whole = lambda x, scale, zero: torch.fake_quantize_per_tensor_affine(x, scale[:1], zero[3:], 0, 15)
CASES = [
    *rows("fake_quantize_per_channel", by_channel, randn(3, 4, 5), *QUANTIZED, close=True, backward=True),
    *rows("fake_quantize_per_tensor", as_a_whole, randn(3, 4), *QUANTIZED, close=True, backward=True),
]
test_torchs_functions = table(CASES)
