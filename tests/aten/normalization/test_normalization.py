"""normalization.cpp: batch, layer and group norm, and what is made of them."""

from ctypes import c_int

import pytest
import torch
import torch.nn.functional as F
from checks import DEVICE, FLOATS, close, drawn, zeros

from cases import LAYOUTS, constant, randn, rows_with, table, uniform
from direct import call, refuses
from support.marks import UNSPECIFIED

X = randn(4, 3, 5, 2)
CHANNELS, VARIANCES = randn(3), constant(uniform(3, low=0.5, high=2.0))


norm = rows_with(dtypes=FLOATS[:2], layouts=LAYOUTS, close=True, upcast=True, backward=True)


def train(x, mean, variance, weight, bias):
    """The results' tail: the running statistics after the call."""
    mean, variance = mean.float().clone(), variance.float().clone()
    weight, bias = (None, None) if weight is None else (weight.float(), bias.float())
    return F.batch_norm(x, mean, variance, weight, bias, training=True, momentum=0.3), mean, variance


MEAN = constant(CHANNELS)
CASES = [
    *norm("batch_norm", train, X, MEAN, VARIANCES, CHANNELS, CHANNELS, dtypes=FLOATS),
    *norm("batch_norm-plain", lambda x, m, v: train(x, m, v, None, None), X, MEAN, VARIANCES),
    *norm("batch_norm-eval", lambda x, *of: F.batch_norm(x, *(t.float() for t in of)), X, MEAN, VARIANCES, CHANNELS, CHANNELS),
    *norm("batch_norm-frozen", F.batch_norm, X, MEAN, VARIANCES, MEAN, MEAN),
    *norm("layer_norm", lambda x, w, b: F.layer_norm(x, (5, 2), w, b), X, randn(5, 2), randn(5, 2)),
    *norm("layer_norm-last", lambda x, w, b: F.layer_norm(x, (7,), w, b), randn(3, 4, 7), randn(7), randn(7), dtypes=FLOATS),
    *norm("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), randn(2, 4, 3, 5), randn(4), randn(4), dtypes=FLOATS),
]
test_torchs_functions = table(CASES)


def normal(total, weight=1.0, bias=0.0, epsilon=1e-3, dims=1):
    """Normal over the last dimensions, with the mean and the reciprocal of the deviation."""
    last = tuple(range(-dims, 0))
    mean, rstd = total.mean(last, keepdim=True), (total.var(last, correction=0, keepdim=True) + epsilon).rsqrt()
    return (total - mean) * rstd * weight + bias, mean.float(), rstd.float()


@pytest.mark.parametrize("smooth", [True, False])
def test_adaptive_layer_norm_that_is_quantised(smooth):
    x, scale, shift, factors = (tensor.half() for tensor in (drawn(2, 3, 8), drawn(2, 8), drawn(2, 1, 8), drawn(8)))
    out, scales = zeros(2, 3, 8, dtype=torch.int8), zeros(2, 3)
    call("aclnnAdaLayerNormQuant", x, scale, shift, None, None, factors if smooth else None, 1e-5, b"dynamic", out, scales)
    exact = normal(x.double(), epsilon=1e-5)[0] * (1 + scale.double().unsqueeze(1)) + shift.double()
    exact = exact * factors.double() if smooth else exact
    close(scales, exact.abs().amax(-1) / 127)
    assert (out.cpu() - exact / scales.cpu().double().unsqueeze(-1)).abs().max() < 0.501


@pytest.mark.parametrize("wanted", [("x",), ("weight",), ("bias",), ("x", "weight")], ids=str)
@pytest.mark.parametrize(("function", "size"), [
    (lambda x, weight, bias: F.batch_norm(x, None, None, weight, bias, training=True), 4),
    (lambda x, weight, bias: F.layer_norm(x, (5,), weight, bias), 5),
    (lambda x, weight, bias: F.group_norm(x, 2, weight, bias), 4),
], ids=["batch", "layer", "group"])  # fmt: skip
def test_gradients_of_some_inputs(function, size, wanted):
    tensors, gradients = {"x": torch.randn(3, 4, 5), "weight": torch.randn(size), "bias": torch.randn(size)}, []
    for device in ("cpu", DEVICE):
        leaves = {name: tensor.clone().to(device).requires_grad_(name in wanted) for name, tensor in tensors.items()}
        function(**leaves).square().sum().backward()
        gradients.append([leaves[name].grad.cpu() for name in wanted])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_batch_norm_saves_mean_and_variance():
    x = torch.randn(4, 3, 5, 2).double() * 3 + 1
    saved = torch.native_batch_norm(x.float().to(DEVICE), None, None, None, None, True, 0.1, 1e-5)[1:]
    sign = -1 if UNSPECIFIED else 1  # then the forward turns the sign, and the backward turns it back
    close([sign * one for one in saved], [x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)])


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_layer_norm_in_each_mode(mode):
    x, out = drawn(3, 4, 6).float(), zeros(3, 4, 6)
    call("aclnnLayerNormWithImplMode", x, [6], None, None, 1e-3, out, None, None, c_int(mode))
    close(out, normal(x.double())[0])


def test_statistics_of_the_batch_do_not_count_in_evaluation():
    x, running, grad, out = torch.randn(2, 3), torch.ones(3), torch.randn(2, 6).to(DEVICE)[:, ::2], zeros(2, 3)
    of_input = [True, False, False]
    call("aclnnBatchNormBackward", grad, x, None, running, running, zeros(2, 3), None, False, 0.0, of_input, out, None, None)
    assert out.cpu().equal(grad.cpu())
    words = "runningMean: expected a tensor, as training is not set"
    refuses(words, "aclnnBatchNormBackward", x, x, *[None] * 5, False, 0.0, of_input, out, None, None, code=161001)


def test_running_statistics_at_one_place_are_refused():
    x, one = zeros(2, 3), zeros(1).expand(3)
    words = "expected elements that do not share memory"
    refuses(f"runningMean: {words}", "aclnnBatchNorm", x, None, None, one, zeros(3), True, 0.1, 1e-5, zeros(2, 3), zeros(3), zeros(3))
    counts = (x, x, x, zeros(3), one, 0.1, 1e-5, zeros(2), zeros(3), zeros(3))
    refuses(f"runningVar: {words}", "aclnnBatchNormGatherStatsWithCounts", *counts)
