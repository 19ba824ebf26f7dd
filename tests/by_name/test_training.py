"""What torch and torch_npu offer that ends in operators by name, compared with the cpu in double precision."""

import copy
import math
import warnings

import pytest
import torch
import torch_npu

from support.marks import skip_with

ARRANGEMENTS = [
    {}, {"bias": False}, {"num_layers": 2}, {"num_layers": 3}, {"batch_first": True, "num_layers": 2}, {"bidirectional": True},
    {"bidirectional": True, "num_layers": 2}, {"bidirectional": True, "num_layers": 3, "bias": False},
]  # fmt: skip
TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 2e-2}


def flat(results):
    return [results] if isinstance(results, torch.Tensor) else [t for result in results for t in flat(result)]


def outcome(function, device, dtype, *inputs):
    """Results, and the gradients of the inputs."""
    leaves = [x.detach().to(device, dtype).requires_grad_() for x in inputs]
    results = flat(function(*leaves))
    loss = sum((t * torch.arange(1, t.numel() + 1, device=device, dtype=dtype).reshape(t.shape).sin()).sum() for t in results)
    return [t.detach().cpu() for t in results] + [t.cpu() for t in torch.autograd.grad(loss, leaves)]


def check(function, *inputs, dtype=torch.float32, tolerance=1e-5):
    """Compare with the same in float64 on the cpu, by the largest number of each result."""
    expected = outcome(function, "cpu", torch.float64, *(x.to(dtype) for x in inputs))
    for got, exact in zip(outcome(function, "npu", dtype, *inputs), expected, strict=True):
        assert got.dtype == dtype and got.shape == exact.shape
        assert (got.double() - exact).abs().max() <= tolerance * (1 + exact.abs().max())


def layer(module, *states):
    """A function of the input, the states and the parameters, which all are leaves then."""
    names = [name for name, _ in module.named_parameters()]

    def call(x, *rest):
        given, parameters = rest[: len(states)], dict(zip(names, rest[len(states) :], strict=True))
        there = copy.deepcopy(module).to(x.device, x.dtype)
        return torch.func.functional_call(there, parameters, (x, given if len(given) == 2 else given[0]))

    return call, [*states, *(parameter.detach() for parameter in module.parameters())]


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS, ids=str)
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_recurrent_layers(kind, arrangement, dtype):
    if kind is torch.nn.LSTM:
        skip_with("2.8", "2.8", "torch.func.functional_call does not give torch.nn.LSTM its parameters")
    module = kind(4, 5, **arrangement)
    layers = module.num_layers * (1 + module.bidirectional)
    batch = 3 if module.batch_first else 2
    states = [torch.randn(layers, batch, 5) for _ in range(2 if kind is torch.nn.LSTM else 1)]
    call, rest = layer(module, *states)
    check(call, torch.randn(3, 2, 4), *rest, dtype=dtype, tolerance=TOLERANCES[dtype])


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_recurrent_layers_in_evaluation(kind):
    module, x = kind(4, 5, num_layers=2, bidirectional=True).eval(), torch.randn(3, 2, 4)
    with torch.no_grad():
        expected = flat(copy.deepcopy(module).double()(x.double()))
        got = flat(module.npu()(x.npu()))
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.cpu().double(), b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_lstm_cell(bias):
    call, rest = layer(torch.nn.LSTMCell(4, 5, bias=bias), torch.randn(3, 5), torch.randn(3, 5))
    check(call, torch.randn(3, 4), *rest)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 2.5, 3, 4, -1, math.inf, -math.inf])
def test_norms_of_any_order(p):
    check(lambda x: torch.linalg.vector_norm(x, p, dim=1), torch.randn(6, 5))
    check(lambda x: torch.norm(x, p), torch.randn(6, 5))


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_distances(p, batch):
    check(lambda x, y: torch.cdist(x, y, p=p), torch.randn(*batch, 6, 5), torch.randn(*batch, 4, 5))


def test_numbers_that_differ_and_renormalised_rows():
    x, y = torch.randint(0, 3, (6, 5)).float(), torch.randint(0, 3, (4, 5)).float()
    assert torch.equal(torch.cdist(x.npu(), y.npu(), p=0).cpu(), torch.cdist(x, y, p=0))
    assert torch.equal(torch.linalg.vector_norm(x.npu(), 0).cpu(), torch.linalg.vector_norm(x, 0))
    x = torch.randn(6, 5)
    torch.testing.assert_close(torch.renorm(x.npu(), 2, 0, 1.0).cpu().double(), torch.renorm(x.double(), 2, 0, 1.0), rtol=1e-5, atol=1e-6)


def test_matrices_whose_operations_torch_npu_has():
    a, b = torch.randn(4, 4) + 4 * torch.eye(4), torch.randn(4, 2)
    for matrix, upper in ((a.tril(), False), (a.triu(), True)):
        got = torch.linalg.solve_triangular(matrix.npu(), b.npu(), upper=upper)
        torch.testing.assert_close(
            got.cpu().double(), torch.linalg.solve_triangular(matrix.double(), b.double(), upper=upper), rtol=1e-5, atol=1e-6
        )
    q, r = torch.linalg.qr(a.npu())
    torch.testing.assert_close((q @ r).cpu(), a, rtol=1e-5, atol=1e-5)


def adam(step, lr=0.1, beta1=0.9, beta2=0.99, epsilon=1e-6):
    """One of Adam's steps from the formulas, of numbers that are float64."""
    var, m, v, grad = (torch.rand(20, dtype=torch.float64) for _ in range(4))
    there = [t.float().npu() for t in (var, m, v)]
    var, m, v, grad = (t.float().double() for t in (var, m, v, grad))
    m_after, v_after = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad
    step(there, grad.float().npu(), lr, beta1, beta2, epsilon)
    return [t.cpu().double() for t in there], var, m_after, v_after


@pytest.mark.parametrize(("power1", "power2"), [(0.9**3, 0.99**3), (1.0, 0.5)], ids=["third step", "zero divisor"])
def test_step_of_adam(power1, power2):
    got, var, m, v = adam(
        lambda out, grad, lr, b1, b2, epsilon: torch_npu.npu_apply_adam(
            power1, power2, lr, b1, b2, epsilon, grad, False, False, out=tuple(out)
        )
    )
    expected = [var - 0.1 * math.sqrt(1 - power2) * m / (v.sqrt() + 1e-6) / (1 - torch.tensor(power1, dtype=torch.float64)), m, v]
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_step_of_adam_with_decay():
    power1, power2 = 0.9**2, 0.99**2
    got, var, m, v = adam(
        lambda out, grad, lr, b1, b2, epsilon: torch_npu.npu_apply_adam_w(
            power1, power2, lr, 0.01, b1, b2, epsilon, grad, None, False, False, out=tuple(out)
        )
    )
    spread = (v / (1 - power2 * 0.99)).sqrt() + 1e-6
    expected = [var * (1 - 0.1 * 0.01) - 0.1 * m / (1 - power1 * 0.9) / spread, m, v]
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("fused", "plain"), [("NpuFusedAdam", torch.optim.Adam), ("NpuFusedAdamW", torch.optim.AdamW), ("NpuFusedSGD", torch.optim.SGD)]
)
def test_fused_optimisers(fused, plain):
    expected, x = torch.nn.Linear(5, 3).double(), torch.randn(6, 5)
    got = copy.deepcopy(expected).float().npu()
    optimisers = [plain(expected.parameters(), lr=0.01), getattr(torch_npu.optim, fused)(got.parameters(), lr=0.01)]
    for _ in range(3):
        for module, optimiser, batch in ((expected, optimisers[0], x.double()), (got, optimisers[1], x.npu())):
            optimiser.zero_grad()
            module(batch).square().sum().backward()
            optimiser.step()
    for a, b in zip(got.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(a.detach().cpu().double(), b.detach(), rtol=1e-5, atol=1e-6)


def test_ordinary_training_never_falls_back_to_the_cpu(capfd):
    """torch_npu warns on stderr, by C++, when it has no kernel."""
    model = torch.nn.ModuleDict(
        {"rnn": torch.nn.LSTM(4, 8, num_layers=2, bidirectional=True), "norm": torch.nn.LayerNorm(16), "head": torch.nn.Linear(16, 3)}
    )
    model = model.npu()
    optimiser = torch.optim.AdamW(model.parameters(), fused=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            optimiser.zero_grad()
            features, _ = model["rnn"](torch.randn(5, 2, 4).npu())
            loss = torch.nn.functional.cross_entropy(model["head"](model["norm"](features[-1])), torch.tensor([0, 2]).npu())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, norm_type=2.5)
            optimiser.step()
        torch.npu.synchronize()
    assert math.isfinite(loss.item())
    assert "fall back" not in capfd.readouterr().err
    assert not [str(warning.message) for warning in caught if "fall back" in str(warning.message)]
