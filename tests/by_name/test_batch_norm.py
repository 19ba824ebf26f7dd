"""The steps of batch norm, called by name, against their definition in double precision."""

import pytest
import torch

from support.named_operators import run

EPSILON, FACTOR = 1e-3, 0.25


def drawn(*sizes, dtype=torch.float32):
    return (torch.rand(sizes, dtype=torch.float64) * 2 - 0.7).to(dtype)


def close(got, expected):
    torch.testing.assert_close(got, expected.detach().to(got.dtype), **({"rtol": 1e-5, "atol": 1e-5} if got.dtype == torch.float32 else {}))


def spread(channels, x):
    return channels.double().reshape(1, -1, *[1] * (x.dim() - 2))


def normalised(x, mean, variance):
    return (x - spread(mean, x)) / (spread(variance, x) + EPSILON).sqrt()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize(("kind", "sizes"), [("BN", (4, 3, 5, 6)), ("BN3D", (2, 3, 4, 5, 6))])
def test_training(acl, kind, sizes, dtype):
    x, grad = drawn(*sizes, dtype=dtype), drawn(*sizes, dtype=dtype)
    scale, offset, running_mean, running_variance = (drawn(3) for _ in range(4))
    exact, *parameters = (t.double().requires_grad_() for t in (x, scale, offset))
    others = [d for d in range(x.dim()) if d != 1]
    mean, variance = exact.mean(others), exact.var(others, unbiased=False)
    y = normalised(exact, mean, variance) * spread(parameters[0], x) + spread(parameters[1], x)
    y.backward(grad.double())

    sums = run(acl, f"{kind}TrainingReduce", [x], [torch.empty(3)] * 2, epsilon=EPSILON)
    for got, of in zip(sums, (exact, exact.square()), strict=True):
        close(got, of.sum(others))
    outputs = [torch.empty_like(x), *[torch.empty(3)] * 4]
    inputs = [x, *sums, scale, offset, running_mean, running_variance]
    got = run(acl, f"{kind}TrainingUpdate", inputs, outputs, epsilon=EPSILON, factor=FACTOR)
    close(got[0], y)
    close(got[1], running_mean.double() * (1 - FACTOR) + mean * FACTOR)
    close(got[2], running_variance.double() * (1 - FACTOR) + exact.var(others) * FACTOR)
    close(got[3], mean)
    close(got[4], variance)
    statistics = [mean.float().detach(), variance.float().detach()]
    of_parameters = run(acl, f"{kind}TrainingUpdateGrad", [grad, x, *statistics], [torch.empty(3)] * 2, epsilon=EPSILON)
    for of, parameter in zip(of_parameters, parameters, strict=True):
        torch.testing.assert_close(of.double(), parameter.grad, rtol=1e-4, atol=1e-4)
    inputs = [grad, x, *of_parameters, scale, *statistics]
    close(run(acl, f"{kind}TrainingReduceGrad", inputs, [torch.empty_like(x)], epsilon=EPSILON)[0], exact.grad)


def test_evaluation(acl):
    x, grad, scale, offset, mean = drawn(4, 3, 5, 6), drawn(4, 3, 5, 6), drawn(3), drawn(3), drawn(3)
    variance = drawn(3).square()
    y = normalised(x.double(), mean, variance) * spread(scale, x) + spread(offset, x)
    close(run(acl, "BNInfer", [x, scale, offset, mean, variance], [torch.empty_like(x)], epsilon=EPSILON)[0], y)
    expected = grad.double() * spread(scale, x) / (spread(variance, x) + EPSILON).sqrt()
    close(run(acl, "BNInferGrad", [grad, scale, variance], [torch.empty_like(x)], epsilon=EPSILON)[0], expected)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("invert", [False, True])
def test_deviation_of_channels(acl, invert, unbiased):
    x = drawn(4, 3, 5, 6)
    mean, variance = x.double().mean((0, 2, 3)), x.double().var((0, 2, 3), unbiased=unbiased)
    attributes = {"dim": [0, 2, 3], "unbiased": unbiased, "keepdim": False, "invert": invert, "epsilon": EPSILON}
    (got,) = run(acl, "ReduceStdWithMean", [x, spread(mean, x).expand(x.shape).float()], [torch.empty(3)], **attributes)
    close(got, (variance + EPSILON).rsqrt() if invert else variance.sqrt())


def test_sums_of_the_gradient_around_the_mean(acl):
    grad, x, mean, scale = drawn(4, 3, 5), drawn(4, 3, 5), drawn(3), drawn(3)
    sums = [t.double().sum((0, 2)).float() for t in (grad, grad.double() * x)]
    centred = (grad.double() * (x - spread(mean, x))).sum((0, 2))
    got = run(acl, "SyncBatchNormBackwardReduce", [*sums, mean, scale], [torch.empty(3)] * 2)
    torch.testing.assert_close(got[0].double(), centred, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(got[1].double(), centred * scale, rtol=1e-5, atol=1e-5)
