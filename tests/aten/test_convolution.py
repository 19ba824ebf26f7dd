"""convolution.cpp: convolutions of one to three dimensions, and what is made of them."""

import ctypes
import itertools

import pytest
import torch
import torch.nn.functional as F

from cases import DEVICE, FLOATS, LAYOUTS, randn, rows, table
from direct import call


def conv(name, function, *inputs, **options):
    return rows(
        name, function, *inputs, **{"dtypes": FLOATS[:2], "layouts": LAYOUTS, "close": True, "upcast": True, "backward": True} | options
    )


CASES = [
    *conv("conv1d", lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1, dilation=2), randn(2, 4, 9), randn(6, 4, 3), randn(6)),
    *conv("conv1d-groups", lambda x, w: F.conv1d(x, w, groups=2), randn(2, 4, 9), randn(6, 2, 3)),
    *conv("conv2d", F.conv2d, randn(2, 3, 6, 5), randn(4, 3, 3, 2), randn(4)),
    *conv(
        "conv2d-options",
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 2), (1, 2), 2),
        randn(2, 4, 7, 8),
        randn(6, 2, 3, 2),
        randn(6),
        dtypes=FLOATS,
    ),
    *conv("conv2d-depthwise", lambda x, w, b: F.conv2d(x, w, b, padding=1, groups=4), randn(2, 4, 6, 6), randn(4, 1, 3, 3), randn(4)),
    *conv("conv2d-unbatched", F.conv2d, randn(3, 6, 5), randn(4, 3, 3, 2), randn(4)),
    *conv("conv2d-same", lambda x, w: F.conv2d(x, w, padding="same"), randn(2, 3, 6, 5), randn(4, 3, 3, 3)),
    *conv("conv2d-pointwise", F.conv2d, randn(2, 3, 6, 5), randn(4, 3, 1, 1), randn(4)),
    *conv("conv2d-empty", F.conv2d, randn(0, 3, 6, 5), randn(4, 3, 3, 3), dtypes=(torch.float32,), backward=False),
    *conv("conv3d", lambda x, w, b: F.conv3d(x, w, b, 2, 1), randn(1, 2, 5, 6, 4), randn(4, 2, 3, 3, 2), randn(4)),
    *conv("conv3d-groups", lambda x, w: F.conv3d(x, w, dilation=2, groups=2), randn(1, 2, 5, 6, 4), randn(4, 1, 2, 3, 2)),
    *conv("conv_transpose1d", lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1), randn(2, 4, 5), randn(4, 3, 3), randn(3)),
    *conv(
        "conv_transpose2d",
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1, 2),
        randn(2, 4, 5, 4),
        randn(4, 3, 3, 3),
        randn(6),
        dtypes=FLOATS,
    ),
    *conv("conv_transpose2d-dilation", lambda x, w: F.conv_transpose2d(x, w, dilation=2), randn(2, 4, 5, 4), randn(4, 3, 2, 3)),
    *conv("conv_transpose3d", lambda x, w, b: F.conv_transpose3d(x, w, b, 2, 1), randn(1, 2, 3, 4, 3), randn(2, 3, 3, 3, 2), randn(3)),
    *conv("conv_tbc", lambda x, w, b: torch.conv_tbc(x, w, b, 1), randn(6, 2, 3), randn(3, 3, 4), randn(4), dtypes=(torch.float32,)),
    *conv("unfold", lambda x: F.unfold(x, (2, 3), dilation=(1, 2), padding=1, stride=2), randn(2, 3, 6, 7)),
    *conv("fold", lambda x: F.fold(x, (5, 6), (2, 3), padding=1, stride=2), randn(2, 18, 9)),
    *conv("channel_shuffle", lambda x: F.channel_shuffle(x, 2), randn(2, 6, 3, 4)),
]


@table(CASES)
def test_convolution(case):
    case.check()


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
    got = torch.ops.aten.convolution_backward(grad.to(DEVICE), x.to(DEVICE), w.to(DEVICE), *arguments)
    for wanted, want, have in zip(mask, expected, got, strict=False):
        if wanted:
            torch.testing.assert_close(have.cpu(), want)


@pytest.mark.parametrize("parts", [("x",), ("w",), ("b",), ("x", "b")], ids=str)
def test_gradients_of_some_inputs(parts):
    tensors = {"x": torch.randn(2, 3, 5, 5), "w": torch.randn(4, 3, 3, 3), "b": torch.randn(4)}
    gradients = []
    for device in ("cpu", DEVICE):
        leaves = {name: tensor.clone().to(device).requires_grad_(name in parts) for name, tensor in tensors.items()}
        F.conv2d(leaves["x"], leaves["w"], leaves["b"]).square().sum().backward()
        gradients.append([leaves[name].grad.cpu() for name in parts])
    torch.testing.assert_close(*gradients)


def test_depthwise():
    x, weight, bias = torch.randn(2, 3, 6, 7), torch.randn(6, 1, 3, 2), torch.randn(6)
    expected = F.conv2d(x, weight, bias, (2, 1), (1, 0), groups=3)
    out = torch.empty_like(expected, device=DEVICE)
    strides = ([2, 1], [1, 0], [1, 1])
    call("aclnnConvDepthwise2d", x.to(DEVICE), weight.to(DEVICE), [3, 2], bias.to(DEVICE), *strides, out, 0)
    torch.testing.assert_close(out.cpu(), expected)


def test_padding_tells_each_side():
    x, weight = torch.randn(2, 3, 5, 6), torch.randn(4, 3, 2, 3)
    top, bottom, left, right = 1, 2, 0, 3
    exact = F.conv2d(F.pad(x.double(), (left, right, top, bottom)), weight.double())
    out = torch.full(exact.shape, float("nan")).npu()
    steps = [1, 1], [top, bottom, left, right], [1, 1]
    call("aclnnConvolution", x.npu(), weight.npu(), None, *steps, False, [0, 0], 1, out, ctypes.c_int8(0))
    torch.testing.assert_close(out.cpu(), exact.float())
