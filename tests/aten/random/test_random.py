"""random.cpp against definitions in float64."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, FLOATS

from direct import call, fraction, refuses
from support.marks import of_the_950

N = 40_000
DRAWS = {
    "randn": lambda: torch.randn(50, device=DEVICE),
    "rand": lambda: torch.rand(50, device=DEVICE),
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


def test_rrelu_in_training_multiplies_by_a_slope_of_each_element():
    x = torch.randn(1000)
    leaf = x.to(DEVICE).requires_grad_()
    result = F.rrelu(leaf, 0.1, 0.4, training=True)
    (slopes,) = torch.autograd.grad(result, leaf, torch.ones_like(result))
    torch.testing.assert_close(result.detach().cpu(), x * slopes.cpu())
    negative = slopes.cpu()[x < 0]
    assert (slopes.cpu()[x > 0] == 1).all() and negative.min() >= 0.1 and negative.max() <= 0.4 and negative.unique().numel() > 400


@of_the_950
def test_random_numbers_of_graphs():
    """Each replay draws others, the same ones from the same seed, in their distribution."""
    x = torch.ones(40_000, device=DEVICE)
    for draw, mean, deviation in (
        (lambda: F.dropout(x, 0.25), 1.0, (1 / 3) ** 0.5),
        (lambda: torch.empty_like(x).exponential_(0.5), 2.0, 2.0),
        (lambda: torch.empty_like(x, dtype=torch.bfloat16).exponential_(4.0), 0.25, 0.25),
    ):
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            numbers = draw()
        replays = []
        for seed in (3, None, 3):
            if seed:
                torch.npu.manual_seed(seed)
            graph.replay()
            replays.append(numbers.cpu().double())
        assert replays[0].equal(replays[2]) and not replays[0].equal(replays[1])
        assert abs(replays[0].mean() - mean) < 0.02 * mean and abs(replays[0].std() - deviation) < 0.03 * deviation
        assert (replays[0] >= 0).all()


@pytest.mark.parametrize(
    "dtype", [*FLOATS, torch.float64, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool], ids=str
)
def test_random_numbers_of_the_whole_type(dtype):
    numbers, again = (torch.zeros(4000, dtype=dtype, device=DEVICE) for _ in range(2))
    call("aclnnInplaceRandomWithoutFromTo", numbers, 5, 9)
    call("aclnnInplaceRandomWithoutFromToTensor", again, torch.tensor([5]), torch.tensor([4]), 5)
    assert torch.equal(numbers, again)
    digits = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8, torch.float64: 53}
    top = 2 ** digits[dtype] if dtype.is_floating_point else 1 if dtype == torch.bool else torch.iinfo(dtype).max
    shares = numbers.double().cpu() / top
    assert shares.min() >= 0 and shares.max() <= 1 and abs(shares.mean() - 0.5) < 0.03  # for bool, eight standard deviations are 0.06


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_exponential(dtype):
    numbers = torch.empty(20000, dtype=dtype, device=DEVICE)
    call("aclnnSimThreadExponential", numbers, 20000, 2.0, 3, 8)
    shares = 1 - torch.exp(-2 * numbers.cpu().double())
    counts = torch.histc(shares, 10, 0, 1)
    assert shares.min() >= 0 and (counts - 2000).abs().max() < 250
    assert torch_npu.npu_sim_exponential_(torch.zeros(100, dtype=dtype, device=DEVICE)).cpu().gt(0).all()
    refuses("lambd: expected", "aclnnSimThreadExponential", numbers, 20000, 0.0, 3, 8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.bool], ids=str)
def test_bernoulli_by_numbers_and_tensors(dtype):
    of_one, of_each, in_place = (torch.zeros(4000, 2, dtype=dtype, device=DEVICE) for _ in range(3))
    call("aclnnBernoulli", of_each, fraction(0.25), 5, 7, of_one)
    call("aclnnBernoulliTensor", of_one, torch.tensor([0.25, 1]), 5, 7, of_each)
    call("aclnnInplaceBernoulli", in_place, fraction(0.25), 5, 7)
    assert set(of_one.long().unique().tolist()) == {0, 1} and abs(of_one.double().mean().item() - 0.25) < 0.02
    assert torch.equal(of_one[:, 0], of_each[:, 0]) and of_each[:, 1].bool().all() and torch.equal(of_one, in_place)


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
