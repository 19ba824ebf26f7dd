"""Layers and optimisers of torch and torch_npu that call operators by name with some releases and types, by default."""

import copy
import json
import math
import warnings
from pathlib import Path

import pytest
import torch
import torch_npu

from by_name.functions import difference, layer, tensors
from support.marks import skip_with
from support.subprocesses import output_of
from support.training import Training

ARRANGEMENTS = [
    {}, {"bias": False}, {"num_layers": 2}, {"num_layers": 3}, {"batch_first": True, "num_layers": 2}, {"bidirectional": True},
    {"bidirectional": True, "num_layers": 2}, {"bidirectional": True, "num_layers": 3, "bias": False},
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS, ids=str)
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_recurrent_layers(kind, arrangement, dtype):
    if kind is torch.nn.LSTM:
        skip_with("2.8", "2.8", "torch.func.functional_call does not give torch.nn.LSTM its parameters")
    layers = arrangement.get("num_layers", 1) * (2 if "bidirectional" in arrangement else 1)
    states = [(layers, 3 if "batch_first" in arrangement else 2, 5)] * (2 if kind is torch.nn.LSTM else 1)
    assert not difference(layer(lambda: kind(4, 5, **arrangement), (3, 2, 4), *states), dtype)


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_recurrent_layers_in_evaluation(kind):
    module, x = kind(4, 5, num_layers=2, bidirectional=True).eval(), torch.randn(3, 2, 4)
    with torch.no_grad():
        expected = tensors(copy.deepcopy(module).double()(x.double()))
        got = tensors(module.npu()(x.npu()))
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.cpu().double(), b, rtol=1e-5, atol=1e-6)


def test_lstm_cell_without_bias():
    assert not difference(layer(lambda: torch.nn.LSTMCell(4, 5, bias=False), (3, 4), (3, 5), (3, 5)))


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


COMPILED = f"""
import json, sys; sys.path += {[str(path) for path in Path(__file__).parents[1:3]]}
import torch_aclnn, torch, torch_npu
from support.training import Training
torch.npu.set_compile_mode(jit_compile=True)
print(json.dumps({{name: Training(name, "npu").run(2) for name in ("lenet", "resnet", "inception")}}))
try:
    torch.isclose(torch.ones(2).npu(), torch.ones(2).npu())
    torch.npu.synchronize()
except RuntimeError as error:
    print(*[line for line in str(error).splitlines() if "IsClose" in line])
"""


def test_networks_are_trained_with_compiled_operators_and_a_missing_one_names_the_switch():
    losses, refusal = output_of(COMPILED).splitlines()
    for name, compiled in json.loads(losses).items():
        assert compiled == pytest.approx(Training(name, "npu").run(2), rel=1e-4)
    assert "operator IsClose has no entry point" in refusal and "torch_npu.npu.set_compile_mode(jit_compile=False) has" in refusal
