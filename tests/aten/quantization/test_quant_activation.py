"""quant_activation.cpp: scales that say which results are wanted."""

import torch

from cases import DEVICE
from direct import refusal


def test_the_second_scale_without_the_first_needs_a_mask():
    x, gamma, scale = (torch.ones(shape, dtype=torch.half, device=DEVICE) for shape in ((2, 4), (4,), (4,)))
    results = [torch.zeros(2, 4, dtype=dtype, device=DEVICE) for dtype in (torch.int8, torch.int8, torch.half)]
    scales = [torch.zeros(2, device=DEVICE) for _ in range(2)]
    code, message = refusal("aclnnAddRmsNormDynamicQuantV2", x, x, gamma, None, scale, None, 1e-6, None, *results, *scales)
    assert code == 161001 and "smoothScale1: expected a tensor, as smoothScale2 is given" in message
