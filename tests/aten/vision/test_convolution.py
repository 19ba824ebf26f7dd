"""convolution.cpp against definitions in float64."""

import ctypes
import itertools
from ctypes import c_int32

import pytest
import torch
import torch.nn.functional as F
from checks import FLOATS, check, definitions, drawn, on_npu
from few_bits import integers

from cases import LAYOUTS, randn, rows_with, table

conv = rows_with(dtypes=FLOATS[:2], layouts=LAYOUTS, close=True, upcast=True, backward=True)
CASES = [
    *conv("conv1d", lambda *x: F.conv1d(*x, stride=2, padding=1, dilation=2), randn(2, 4, 9), randn(6, 4, 3), randn(6)),
    *conv("conv2d-more", lambda *x: F.conv2d(*x, (2, 1), (1, 2), (1, 2), 2), randn(2, 4, 7, 8), randn(6, 2, 3, 2), randn(6), dtypes=FLOATS),
    *conv("conv2d-depthwise", lambda *x: F.conv2d(*x, padding=1, groups=4), randn(2, 4, 6, 6), randn(4, 1, 3, 3), randn(4)),
    *conv("conv3d", lambda *x: F.conv3d(*x, 2, 1), randn(1, 2, 5, 6, 4), randn(4, 2, 3, 3, 2), randn(4)),
    *conv("conv_transpose2d", lambda *x: F.conv_transpose2d(*x, 2, 1, 1, 2), randn(2, 4, 5, 4), randn(4, 3, 3, 3), randn(6), dtypes=FLOATS),
    *conv("conv_transpose3d", lambda *x: F.conv_transpose3d(*x, 2, 1), randn(1, 2, 3, 4, 3), randn(2, 3, 3, 3, 2), randn(3)),
    *conv("conv_tbc", lambda *x: torch.conv_tbc(*x, 1), randn(6, 2, 3), randn(3, 3, 4), randn(4), dtypes=(torch.float32,)),
    *conv("unfold", lambda x: F.unfold(x, (2, 3), dilation=(1, 2), padding=1, stride=2), randn(2, 3, 6, 7)),
    *conv("fold", lambda x: F.fold(x, (5, 6), (2, 3), padding=1, stride=2), randn(2, 18, 9)),
    *conv("channel_shuffle", lambda x: F.channel_shuffle(x, 2), randn(2, 6, 3, 4)),
]
test_torchs_functions = table(CASES)


test_definitions = definitions(
    [
        # The padding tells each side.
        (
            *("aclnnConvolution", [drawn(2, 3, 5, 6), drawn(4, 3, 2, 3)]),
            (None, [1, 1], [1, 2, 0, 3], [1, 1], False, [0, 0], 1, ..., ctypes.c_int8(0)),
            *(lambda x, w: F.conv2d(F.pad(x, (0, 3, 1, 2)), w), FLOATS[:1]),
        ),
        # One step counts for both directions.
        ("aclnnIm2col", [drawn(1, 2, 4, 4)], ([2], [1], [0], [1]), lambda x: F.unfold(x, 2), FLOATS[:1]),
        ("aclnnIm2colBackward", [drawn(1, 8, 9)], ([4, 4], [2], [1], [0], [1]), lambda x: F.fold(x, (4, 4), 2), FLOATS[:1]),
    ]
)


@pytest.mark.parametrize("bias_type", [None, torch.int32, torch.float16])
def test_quant_convolution(bias_type):
    x, weight = integers(2, 4, 5, 6), integers(6, 2, 3, 2)
    scale, bias = torch.rand(6) / 1000, None if bias_type is None else (torch.randn(6) * 50).to(bias_type)
    exact = F.conv2d(x.double(), weight.double(), None, (2, 1), (1, 0), (1, 2), 2) * scale.double().view(6, 1, 1)
    if bias is not None:
        exact = exact + (bias.double() * (scale.double() if bias_type == torch.int32 else 1)).view(6, 1, 1)
    arguments = (x, weight, bias, scale, None, [2, 1], [1, 0], [1, 2], False, [0, 0], 2, c_int32(0), b"rint")
    check("aclnnQuantConvolution", arguments, exact.half().double(), dtype=torch.float16)


@pytest.mark.parametrize("mask", list(itertools.product((False, True), repeat=3)), ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_masked_gradients(mask, transposed):
    if not any(mask):
        return
    torch.manual_seed(0)
    x, w = torch.randn(2, 4, 6, 5), torch.randn(4, 4 if transposed else 2, 3, 3)
    arguments = ([8 if transposed else 4], (1, 1), (1, 1), (1, 1), transposed, (0, 0), 2, mask)
    grad = torch.randn(2, 8 if transposed else 4, 6, 5)
    expected = torch.ops.aten.convolution_backward(grad, x, w, *arguments)
    got = on_npu(torch.ops.aten.convolution_backward, grad, x, w, *arguments)
    for wanted, want, have in zip(mask, expected, got, strict=False):
        if wanted:
            torch.testing.assert_close(have.cpu(), want)


def test_results_are_the_same_wherever_they_were_made():
    """Which tensor of ATen takes an output's memory depends on the last call with inputs of these sizes."""
    torch.manual_seed(0)
    x, *filters = torch.randn(2, 64, 16, 16), torch.randn(64, 64, 3, 3), torch.randn(64, 64, 1, 1)
    for weight in 2 * filters:
        inputs = [x.requires_grad_(), weight.requires_grad_()]
        there = [tensor.detach().to("npu").requires_grad_() for tensor in inputs]
        results = [F.conv2d(*tensors, padding=weight.shape[-1] // 2) for tensors in (inputs, there)]
        gradients = [torch.autograd.grad(y.square().sum(), t) for y, t in zip(results, (inputs, there), strict=True)]
        for want, have in zip([results[0], *gradients[0]], [results[1], *gradients[1]], strict=True):
            torch.testing.assert_close(have.cpu(), want, rtol=1e-4, atol=1e-4 * want.abs().max().item())
