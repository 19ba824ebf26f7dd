"""normalisation.cpp, batch_statistics.cpp: batch, layer and group norm, and the pieces of synchronised batch norm."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

from cases import DEVICE, FLOATS, LAYOUTS, constant, randn, rows, table, uniform
from direct import call
from support.marks import UNSPECIFIED

X = randn(4, 3, 5, 2)
CHANNELS, VARIANCES = randn(3), constant(uniform(3, low=0.5, high=2.0))


def norm(name, function, *inputs, **options):
    return rows(
        name, function, *inputs, **{"dtypes": FLOATS[:2], "layouts": LAYOUTS, "close": True, "upcast": True, "backward": True} | options
    )


def train(x, mean, variance, weight, bias):
    """The results' tail: the running statistics after the call."""
    mean, variance = mean.float().clone(), variance.float().clone()
    weight, bias = (None, None) if weight is None else (weight.float(), bias.float())
    return F.batch_norm(x, mean, variance, weight, bias, training=True, momentum=0.3), mean, variance


MEAN = constant(CHANNELS)
CASES = [
    *norm("batch_norm", train, X, MEAN, VARIANCES, CHANNELS, CHANNELS, dtypes=FLOATS),
    *norm("batch_norm-2d", train, randn(6, 3), MEAN, VARIANCES, CHANNELS, CHANNELS),
    *norm("batch_norm-3d", train, randn(2, 3, 2, 3, 2), MEAN, VARIANCES, CHANNELS, CHANNELS),
    *norm("batch_norm-plain", lambda x, m, v: train(x, m, v, None, None), X, MEAN, VARIANCES),
    *norm("batch_norm-no-statistics", lambda x: F.batch_norm(x, None, None, training=True), X),
    *norm(
        "batch_norm-eval",
        lambda x, m, v, w, b: F.batch_norm(x, m.float(), v.float(), w.float(), b.float()),
        X,
        MEAN,
        VARIANCES,
        CHANNELS,
        CHANNELS,
    ),
    *norm(
        "batch_norm-frozen", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), X, MEAN, VARIANCES, constant(CHANNELS), constant(CHANNELS)
    ),
    *norm("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), X, CHANNELS, CHANNELS, dtypes=(torch.float32,)),
    *norm("layer_norm", lambda x, w, b: F.layer_norm(x, (5, 2), w, b), X, randn(5, 2), randn(5, 2)),
    *norm("layer_norm-last", lambda x, w, b: F.layer_norm(x, (7,), w, b), randn(3, 4, 7), randn(7), randn(7), dtypes=FLOATS),
    *norm("layer_norm-plain", lambda x: F.layer_norm(x, (5, 2)), X),
    *norm("layer_norm-empty", lambda x, w: F.layer_norm(x, (4,), w), randn(0, 4), randn(4), dtypes=(torch.float32,)),
    *norm(
        "native_layer_norm",
        lambda x, w, b: torch.native_layer_norm(x, (5, 2), w, b, 1e-5),
        X,
        randn(5, 2),
        randn(5, 2),
        dtypes=(torch.float32,),
        backward=False,
    ),
    *norm("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), randn(2, 4, 3, 5), randn(4), randn(4), dtypes=FLOATS),
    *norm("group_norm-plain", lambda x: F.group_norm(x, 3), X),
]


@table(CASES)
def test_normalisation(case):
    case.check()


@pytest.mark.parametrize("wanted", [("x",), ("weight",), ("bias",), ("x", "weight")], ids=str)
@pytest.mark.parametrize("function", ["batch", "layer", "group"])
def test_gradients_of_some_inputs(function, wanted):
    tensors = {
        "x": torch.randn(3, 4, 5),
        "weight": torch.randn(5 if function == "layer" else 4),
        "bias": torch.randn(5 if function == "layer" else 4),
    }
    gradients = []
    for device in ("cpu", DEVICE):
        leaf = {name: tensor.clone().to(device).requires_grad_(name in wanted) for name, tensor in tensors.items()}
        if function == "batch":
            y = F.batch_norm(leaf["x"], None, None, leaf["weight"], leaf["bias"], training=True)
        elif function == "layer":
            y = F.layer_norm(leaf["x"], (5,), leaf["weight"], leaf["bias"])
        else:
            y = F.group_norm(leaf["x"], 2, leaf["weight"], leaf["bias"])
        y.square().sum().backward()
        gradients.append([leaf[name].grad.cpu() for name in wanted])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_fast_layer_norm():
    x, weight, bias = torch.randn(3, 4, 7), torch.randn(7), torch.randn(7)
    out, mean, rstd = (torch.empty(3, 4, 7, device=DEVICE), torch.empty(3, 4, 1, device=DEVICE), torch.empty(3, 4, 1, device=DEVICE))
    call("aclnnFastLayerNorm", x.to(DEVICE), [7], weight.to(DEVICE), bias.to(DEVICE), 1e-5, out, mean, rstd)
    for have, want in zip((out, mean, rstd), torch.native_layer_norm(x, (7,), weight, bias, 1e-5), strict=True):
        torch.testing.assert_close(have.cpu(), want)


# ATen has no CPU kernel for the rest: two ranks that share a batch must find what one rank finds that has all of it.

EPS = 1e-5


@pytest.fixture
def batch():
    torch.manual_seed(1)
    whole = torch.randn(7, 3, 4) * 2 + 5
    return whole, [whole[:2].to(DEVICE), whole[2:].to(DEVICE)]


def statistics(whole):
    mean, variance = whole.mean((0, 2)), whole.var((0, 2), unbiased=False)
    return mean, variance, (variance + EPS).rsqrt()


def test_gathered_statistics(batch):
    whole, parts = batch
    pieces = [torch.batch_norm_stats(part, EPS) for part in parts]
    means, invstds = torch.stack([m for m, _ in pieces]), torch.stack([i for _, i in pieces])
    counts = torch.tensor([8.0, 20.0], device=DEVICE)
    running_mean, running_var = torch.zeros(3, device=DEVICE), torch.ones(3, device=DEVICE)
    mean, invstd = torch.batch_norm_gather_stats_with_counts(parts[0], means, invstds, running_mean, running_var, 0.1, EPS, counts)
    expected = statistics(whole)
    torch.testing.assert_close(mean.cpu(), expected[0])
    torch.testing.assert_close(invstd.cpu(), expected[2])
    torch.testing.assert_close(running_mean.cpu(), 0.1 * expected[0])
    torch.testing.assert_close(running_var.cpu(), 0.9 + 0.1 * whole.var((0, 2)))


def test_gathered_sums(batch):
    whole, parts = batch
    pieces = [torch_npu.batch_norm_reduce(part.unsqueeze(2), EPS) for part in parts]
    sums, squares = torch.stack([s for s, _ in pieces]), torch.stack([q for _, q in pieces])
    counts = torch.tensor([8, 20], dtype=torch.int32, device=DEVICE)
    running_mean, running_var = torch.zeros(3, device=DEVICE), torch.ones(3, device=DEVICE)
    mean, invstd = torch_npu.batch_norm_gather_stats_update(parts[0], sums, squares, running_mean, running_var, 0.1, EPS, counts)
    expected = statistics(whole)
    torch.testing.assert_close(mean.cpu(), expected[0])
    torch.testing.assert_close(invstd.cpu(), expected[2])
    torch.testing.assert_close(running_mean.cpu(), 0.1 * expected[0])
    torch.testing.assert_close(running_var.cpu(), 0.9 + 0.1 * whole.var((0, 2)))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_elemt(batch, dtype):
    whole, _ = batch
    x, weight, bias = whole.to(dtype), torch.randn(3), torch.randn(3)
    mean, variance, invstd = statistics(x.float())
    got = torch.batch_norm_elemt(*(t.to(DEVICE) for t in (x, weight, bias, mean, invstd)), EPS)
    expected = F.batch_norm(x.float(), mean, variance, weight, bias, eps=EPS).to(dtype)
    torch.testing.assert_close(got.cpu(), expected)


@pytest.mark.parametrize("wanted", [(True, True, True), (True, False, False), (False, True, True)], ids=str)
def test_backward_reduce(batch, wanted):
    whole, _ = batch
    grad, weight = torch.randn_like(whole), torch.randn(3)
    mean, _, invstd = statistics(whole)
    got = torch.batch_norm_backward_reduce(*(t.to(DEVICE) for t in (grad, whole, mean, invstd, weight)), *wanted)
    sum_dy, sum_dy_xmu = grad.sum((0, 2)), (grad * (whole - mean[:, None])).sum((0, 2))
    expected = [sum_dy, sum_dy_xmu, sum_dy_xmu * invstd, sum_dy]
    for want, have, given in zip(expected, got, (wanted[0], *wanted), strict=False):
        if given:
            torch.testing.assert_close(have.cpu(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [(2, 3), (2, 3, 1), (4, 3, 17), (3, 40, 8, 9), (0, 3, 5), (5, 0, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_backward_reduce_sums_in_float64(size, dtype):
    x, grad = torch.randn(size).to(dtype), torch.randn(size).to(dtype)
    mean, invstd = torch.randn(size[1]), torch.rand(size[1]) + 0.5
    dims = [d for d in range(len(size)) if d != 1]
    centred = x.double() - mean.double().view(-1, *[1] * (len(size) - 2))
    exact = grad.double().sum(dims), (grad.double() * centred).sum(dims)
    for layout in (lambda t: t, lambda t: t.movedim(1, -1).contiguous().movedim(-1, 1)):
        there = [t.to(DEVICE) for t in (layout(grad), layout(x), mean, invstd, torch.ones_like(mean))]
        got = torch.batch_norm_backward_reduce(*there, True, True, True)
        for have, want in zip(got, exact, strict=False):
            torch.testing.assert_close(have.cpu().double(), want, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("normalised", [(6,), (4, 6)])
def test_deep_norm(normalised, dtype):
    x, gx = torch.randn(3, 4, 6).to(dtype), torch.randn(3, 4, 6).to(dtype)
    beta, gamma, dy = torch.randn(normalised).to(dtype), torch.randn(normalised).to(dtype), torch.randn(3, 4, 6).to(dtype)
    alpha, epsilon, dims = 0.3, 1e-6, tuple(range(-len(normalised), 0))
    a, b, c, d = (t.double().requires_grad_() for t in (x, gx, beta, gamma))
    total = a * alpha + b
    mean = total.mean(dims, keepdim=True)
    rstd = ((total - mean) ** 2).mean(dims, keepdim=True).add(epsilon).rsqrt()
    y = (total - mean) * rstd * d + c
    gradients = torch.autograd.grad(y, (a, b, c, d), dy.double())
    outs = [torch.empty(mean.shape).npu(), torch.empty(mean.shape).npu(), torch.empty(3, 4, 6, dtype=dtype).npu()]
    call("aclnnDeepNorm", x.npu(), gx.npu(), beta.npu(), gamma.npu(), alpha, epsilon, *outs)
    for out, exact in zip(outs, (mean, rstd, y), strict=True):
        torch.testing.assert_close(out.cpu(), exact.detach().to(out.dtype))
    found = [torch.empty(t.shape, dtype=kind).npu() for t, kind in ((x, dtype), (gx, dtype), (beta, torch.float32), (gamma, torch.float32))]
    call("aclnnDeepNormGrad", dy.npu(), x.npu(), gx.npu(), gamma.npu(), *outs[:2], alpha, *found)
    for gradient, exact in zip(found, gradients, strict=True):
        torch.testing.assert_close(gradient.cpu(), exact.to(gradient.dtype), rtol=None, atol=None)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("with_bias", [False, True])
def test_add_layer_norm(with_bias, dtype):
    x1, x2 = torch.randn(3, 4, 6).to(dtype), torch.randn(3, 4, 6).to(dtype)
    gamma, beta, bias = (torch.randn(6).to(dtype) for _ in range(3))
    total = x1.double() + x2.double() + (bias.double() if with_bias else 0)
    mean = total.mean(-1, keepdim=True)
    rstd = ((total - mean) ** 2).mean(-1, keepdim=True).add(1e-5).rsqrt()
    y = (total - mean) * rstd * gamma.double() + beta.double()
    outs = [
        torch.empty(shape, dtype=kind).npu() for shape, kind in (((3, 4, 6), dtype), ((3, 4, 1), torch.float32), ((3, 4, 1), torch.float32))
    ]
    added = torch.empty(3, 4, 6, dtype=dtype).npu()
    call("aclnnAddLayerNorm", x1.npu(), x2.npu(), gamma.npu(), beta.npu(), bias.npu() if with_bias else None, 1e-5, True, *outs, added)
    for out, exact in zip((*outs, added), (y, mean, rstd, total), strict=True):
        torch.testing.assert_close(out.cpu(), exact.to(out.dtype))


def test_batch_norm_saves_mean_and_variance():
    x = torch.randn(4, 3, 5, 2).double() * 3 + 1
    mean, variance = (t.cpu() for t in torch.native_batch_norm(x.float().to(DEVICE), None, None, None, None, True, 0.1, EPS)[1:])
    sign = -1 if UNSPECIFIED else 1  # which only the backward takes back
    torch.testing.assert_close(sign * mean, x.mean((0, 2, 3)).float())
    torch.testing.assert_close(sign * variance, x.var((0, 2, 3), correction=0).float())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_batch_norm_stats_of_values_far_from_zero(dtype):
    x = (torch.randn(16, 3, 5, 2) * 3 + 1000).to(dtype)
    mean, invstd = (t.cpu() for t in torch.batch_norm_stats(x.to(DEVICE), EPS))
    exact = x.double()
    torch.testing.assert_close(mean, exact.mean((0, 2, 3)).float(), rtol=2e-7, atol=0)
    torch.testing.assert_close(invstd, (exact.var((0, 2, 3), correction=0) + EPS).rsqrt().float(), rtol=2e-7, atol=0)
