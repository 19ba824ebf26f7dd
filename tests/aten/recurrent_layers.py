"""What the tests of LSTM and GRU share: a layer in every arrangement, with its gradients, against torch's own on the CPU."""

import copy

import pytest
import torch
from checks import DEVICE
from torch.utils._pytree import tree_leaves

ARRANGEMENTS = [
    {},
    {"bias": False},
    {"num_layers": 2},
    {"batch_first": True},
    {"bidirectional": True},
    {"bidirectional": True, "num_layers": 2, "batch_first": True},
]


def run(module, x, *states):
    """The module's results. torch_npu takes the entry point for an LSTM of one layer and direction only, and for any by its own name."""
    if not isinstance(module, torch.nn.LSTM):
        return module(x, *states)
    if x.device.type == "cpu":
        return module(x, states or None)
    if not states:
        shape = (module.num_layers * (1 + module.bidirectional), x.size(0 if module.batch_first else 1), module.hidden_size)
        states = (torch.zeros(shape, dtype=x.dtype, device=DEVICE),) * 2
    how = (module.bias, module.num_layers, module.dropout, module.training, module.bidirectional)
    return torch.ops.npu._lstm_npu(x, states, module._flat_weights, *how, batch_first=module.batch_first)[:3]


def outcome(module, device, *inputs):
    """Results, and the gradients of the inputs and the parameters."""
    module = copy.deepcopy(module).to(device)
    inputs = [x.detach().to(device).requires_grad_() for x in inputs]
    results = tree_leaves(run(module, *inputs))
    loss = sum((result * torch.arange(1.0, result.numel() + 1, device=device).reshape(result.shape).sin()).sum() for result in results)
    leaves = [*inputs, *module.parameters()]
    return [result.detach().cpu() for result in results] + [grad.cpu() for grad in torch.autograd.grad(loss, leaves)]


def same(module, *inputs):
    torch.testing.assert_close(outcome(module, DEVICE, *inputs), outcome(module, "cpu", *inputs), rtol=1e-4, atol=1e-5)


class Layers:
    """Tests of a kind of layer, which has a number of states."""

    kind: type
    states: int

    @pytest.mark.parametrize("arrangement", ARRANGEMENTS, ids=str)
    def test_a_layer_and_its_gradients(self, arrangement):
        same(self.kind(4, 5, **arrangement), torch.randn(3, 2, 4) if arrangement.get("batch_first") else torch.randn(6, 2, 4))

    def test_initial_states_get_gradients(self):
        same(self.kind(4, 5, num_layers=2), torch.randn(6, 3, 4), *(torch.randn(2, 3, 5) for _ in range(self.states)))

    def test_inference_gives_the_same(self):
        module, x = self.kind(4, 5, num_layers=2).eval(), torch.randn(6, 3, 4)
        with torch.no_grad():
            expected, got = tree_leaves(module(x)), tree_leaves(run(copy.deepcopy(module).to(DEVICE), x.to(DEVICE)))
        torch.testing.assert_close([t.cpu() for t in got], expected)

    def test_float16_is_computed_in_float32(self):
        module, x = self.kind(4, 5).half(), torch.randn(6, 3, 4).half()
        expected = tree_leaves(copy.deepcopy(module).float()(x.float()))
        got = tree_leaves(module.to(DEVICE)(x.to(DEVICE)))
        assert all(t.dtype == torch.float16 for t in got)
        torch.testing.assert_close([t.float().cpu() for t in got], expected, rtol=2e-3, atol=2e-3)
