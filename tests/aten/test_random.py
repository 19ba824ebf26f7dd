"""random.cpp: the same seed gives the same numbers, others give others; the distributions are what they should be."""

import pytest
import torch
import torch.nn.functional as F

from cases import DEVICE, FLOATS

N = 40_000
DRAWS = {
    "randn": lambda: torch.randn(50, device=DEVICE),
    "normal_": lambda: torch.empty(5, 10, device=DEVICE).normal_(1, 2),
    "rand": lambda: torch.rand(50, device=DEVICE),
    "uniform_": lambda: torch.empty(50, device=DEVICE).uniform_(-2, 3),
    "randint": lambda: torch.randint(0, 1000, (50,), device=DEVICE),
    "random_": lambda: torch.empty(50, dtype=torch.int64, device=DEVICE).random_(),
    "bernoulli": lambda: torch.bernoulli(torch.full((200,), 0.5, device=DEVICE)),
    "bernoulli_": lambda: torch.empty(200, device=DEVICE).bernoulli_(0.5),
    "randperm": lambda: torch.randperm(50, device=DEVICE),
    "multinomial": lambda: torch.multinomial(torch.ones(100, device=DEVICE), 20),
    "dropout": lambda: F.dropout(torch.ones(200, device=DEVICE), 0.5),
    "normal": lambda: torch.normal(torch.zeros(50, device=DEVICE), torch.ones(50, device=DEVICE)),
}


def seeded(seed, draw):
    torch.manual_seed(seed)
    return draw().cpu()


@pytest.mark.parametrize("name", DRAWS)
def test_seed(name):
    draw = DRAWS[name]
    first = seeded(5, draw)
    assert not torch.equal(first, draw().cpu()), "the next call draws other numbers"
    assert torch.equal(first, seeded(5, draw))
    assert not torch.equal(first, seeded(6, draw))


def test_state():
    state = torch.npu.get_rng_state()
    first = torch.rand(9, device=DEVICE).cpu()
    torch.npu.set_rng_state(state)
    assert torch.equal(first, torch.rand(9, device=DEVICE).cpu())


@pytest.mark.parametrize("dtype", [*FLOATS], ids=str)
def test_normal(dtype):
    x = torch.empty(N, dtype=dtype, device=DEVICE).normal_(2, 3).cpu().double()
    standard = (x - 2) / 3
    assert abs(standard.mean()) < 0.03 and abs(standard.std() - 1) < 0.03
    assert abs((standard**3).mean()) < 0.08 and abs((standard**4).mean() - 3) < 0.25
    assert standard[1:].mul(standard[:-1]).mean().abs() < 0.03


@pytest.mark.parametrize("dtype", [*FLOATS], ids=str)
def test_uniform(dtype):
    x = torch.rand(N, dtype=dtype, device=DEVICE).cpu().double()
    assert x.min() >= 0 and x.max() < 1
    assert abs(x.mean() - 0.5) < 0.01 and abs(x.var() - 1 / 12) < 0.005


def test_uniform_bounds():
    x = torch.empty(N, device=DEVICE).uniform_(-3, 5).cpu()
    assert -3 <= x.min() < -2.99 and 4.99 < x.max() < 5


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.float32], ids=str)
def test_randint(dtype):
    counts = torch.randint(3, 13, (N,), dtype=dtype, device=DEVICE).cpu().long().bincount(minlength=13)
    assert counts[:3].tolist() == [0, 0, 0] and counts.shape == (13,)
    assert (counts[3:] - N / 10).abs().max() < 300


@pytest.mark.parametrize("dtype", [*FLOATS], ids=str)
def test_bernoulli(dtype):
    probabilities = torch.tensor([0.0, 0.25, 0.75, 1.0], dtype=dtype).repeat(N // 4, 1)
    x = torch.bernoulli(probabilities.to(DEVICE)).cpu()
    assert x.dtype == dtype and set(x.unique().tolist()) == {0, 1}
    torch.testing.assert_close(x.double().mean(0), probabilities[0].double(), rtol=0, atol=0.02)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.bool, torch.uint8, torch.int8, torch.int64], ids=str)
def test_bernoulli_in_place(dtype):
    for probability in (0.3, torch.tensor(0.3, device=DEVICE)):
        x = torch.empty(N, dtype=dtype, device=DEVICE).bernoulli_(probability).cpu()
        assert set(x.long().unique().tolist()) == {0, 1} and abs(x.double().mean() - 0.3) < 0.02


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_randperm(n):
    assert torch.equal(torch.randperm(n, device=DEVICE).cpu().sort()[0], torch.arange(n))


def test_multinomial():
    weights = torch.tensor([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]])
    drawn = torch.multinomial(weights.to(DEVICE), N // 4, replacement=True).cpu()
    shares = torch.stack([row.bincount(minlength=3) for row in drawn]) / (N // 4)
    torch.testing.assert_close(shares, weights / weights.sum(1, keepdim=True), rtol=0, atol=0.03)
    assert sorted(torch.multinomial(torch.rand(20, device=DEVICE) + 0.1, 20).cpu().tolist()) == list(range(20))


def test_normal_with_tensors():
    mean, std = torch.tensor([-5.0, 5.0]).repeat(N // 2), torch.tensor([1.0, 3.0]).repeat(N // 2)
    for x in (
        torch.normal(mean.to(DEVICE), std.to(DEVICE)),
        torch.normal(mean.to(DEVICE), 2.0),
        torch.normal(1.0, std.to(DEVICE)),
        torch.normal(1.0, 2.0, (N,), device=DEVICE),
    ):
        assert x.shape == (N,) and x.cpu().std() > 0.9
    x = torch.normal(mean.to(DEVICE), std.to(DEVICE)).cpu().reshape(-1, 2)
    torch.testing.assert_close(x.mean(0), mean[:2], rtol=0, atol=0.1)
    torch.testing.assert_close(x.std(0), std[:2], rtol=0, atol=0.1)


def test_strided_and_empty():
    x = torch.zeros(6, 8, device=DEVICE)
    x[:, ::2].normal_()
    x = x.cpu()
    assert (x[:, 1::2] == 0).all() and (x[:, ::2] != 0).all()
    assert torch.rand(0, 3, device=DEVICE).shape == (0, 3)


@pytest.mark.parametrize("dtype", [*FLOATS], ids=str)
@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout(p, dtype):
    x = torch.randn(100, 41, dtype=dtype).abs() + 1
    leaf = x.to(DEVICE).requires_grad_()
    y = F.dropout(leaf, p)
    y.sum().backward()
    kept = y.detach().cpu() != 0
    assert abs(kept.double().mean() - (1 - p)) < 0.03
    torch.testing.assert_close(y.detach().cpu()[kept], (x.float() / (1 - p)).to(dtype)[kept])
    assert torch.equal(leaf.grad.cpu() != 0, kept)


def test_dropout_in_place_drops_the_same():
    x, results = torch.randn(12, 13, device=DEVICE), []
    for inplace in (False, True):
        torch.manual_seed(2)
        results.append(F.dropout(x.clone(), 0.3, inplace=inplace))
    torch.testing.assert_close(*results)


def test_dropout_extremes():
    x = torch.randn(100, device=DEVICE)
    assert (F.dropout(x, 1.0).cpu() == 0).all()
    assert torch.equal(F.dropout(x, 0.0).cpu(), x.cpu())
    assert torch.equal(F.dropout(x, 0.5, training=False).cpu(), x.cpu())
    assert F.dropout(torch.empty(0, device=DEVICE)).shape == (0,)
