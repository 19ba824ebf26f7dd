"""batch_statistics.cpp against definitions in float64."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, FLOATS

EPS = 1e-5


@pytest.fixture
def batch():
    torch.manual_seed(1)
    whole = torch.randn(7, 3, 4) * 2 + 5
    return whole, [whole[:2].to(DEVICE), whole[2:].to(DEVICE)]


def statistics(whole):
    mean, variance = whole.mean((0, 2)), whole.var((0, 2), unbiased=False)
    return mean, variance, (variance + EPS).rsqrt()


@pytest.mark.parametrize("by_sums", [False, True])
def test_gathered_statistics(batch, by_sums):
    whole, parts = batch
    pieces = [torch_npu.batch_norm_reduce(part.unsqueeze(2), EPS) if by_sums else torch.batch_norm_stats(part, EPS) for part in parts]
    gather = torch_npu.batch_norm_gather_stats_update if by_sums else torch.batch_norm_gather_stats_with_counts
    counts = torch.tensor([8, 20], dtype=torch.int32 if by_sums else torch.float32, device=DEVICE)
    running = [torch.zeros(3, device=DEVICE), torch.ones(3, device=DEVICE)]
    got = gather(parts[0], *map(torch.stack, zip(*pieces, strict=True)), *running, 0.1, EPS, counts)
    mean, _, invstd = statistics(whole)
    expected = mean, invstd, 0.1 * mean, 0.9 + 0.1 * whole.var((0, 2))
    torch.testing.assert_close([one.cpu() for one in (*got, *running)], [*expected])


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_batch_norm_stats_of_values_far_from_zero(dtype):
    x = (torch.randn(16, 3, 5, 2) * 3 + 1000).to(dtype)
    mean, invstd = (t.cpu() for t in torch.batch_norm_stats(x.to(DEVICE), EPS))
    exact = x.double()
    torch.testing.assert_close(mean, exact.mean((0, 2, 3)).float(), rtol=2e-7, atol=0)
    torch.testing.assert_close(invstd, (exact.var((0, 2, 3), correction=0) + EPS).rsqrt().float(), rtol=2e-7, atol=0)
