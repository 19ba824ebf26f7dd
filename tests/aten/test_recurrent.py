"""lstm.cpp and gru.cpp: recurrent layers in every arrangement, and the LSTM's cell."""

import copy

import torch_aclnn
import pytest
import torch

from cases import DEVICE
from support.marks import refused_at_once

KINDS = (torch.nn.LSTM, torch.nn.GRU)
ARRANGEMENTS = [
    {},
    {"bias": False},
    {"num_layers": 2},
    {"batch_first": True},
    {"bidirectional": True},
    {"bidirectional": True, "num_layers": 2, "batch_first": True},
]


def tensors(results):
    return [results] if isinstance(results, torch.Tensor) else [t for result in results for t in tensors(result)]


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
    results = tensors(run(module, *inputs))
    loss = sum((result * torch.arange(1.0, result.numel() + 1, device=device).reshape(result.shape).sin()).sum() for result in results)
    leaves = [*inputs, *module.parameters()]
    return [result.detach().cpu() for result in results] + [grad.cpu() for grad in torch.autograd.grad(loss, leaves)]


def check(module, *inputs):
    torch.testing.assert_close(outcome(module, DEVICE, *inputs), outcome(module, "cpu", *inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_and_its_gradients(kind, arrangement):
    check(kind(4, 5, **arrangement), torch.randn(3, 2, 4) if arrangement.get("batch_first") else torch.randn(6, 2, 4))


@pytest.mark.parametrize("kind", KINDS)
def test_initial_states_get_gradients(kind):
    states = [torch.randn(2, 3, 5) for _ in range(2 if kind is torch.nn.LSTM else 1)]
    check(kind(4, 5, num_layers=2), torch.randn(6, 3, 4), *states)


@pytest.mark.parametrize("kind", KINDS)
def test_inference_gives_the_same(kind):
    module, x = kind(4, 5, num_layers=2).eval(), torch.randn(6, 3, 4)
    with torch.no_grad():
        expected, got = tensors(module(x)), tensors(run(copy.deepcopy(module).to(DEVICE), x.to(DEVICE)))
    torch.testing.assert_close([t.cpu() for t in got], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_float16_is_computed_in_float32(kind):
    module, x = kind(4, 5).half(), torch.randn(6, 3, 4).half()
    expected = tensors(copy.deepcopy(module).float()(x.float()))
    got = tensors(module.to(DEVICE)(x.to(DEVICE)))
    assert all(t.dtype == torch.float16 for t in got)
    torch.testing.assert_close([t.float().cpu() for t in got], expected, rtol=2e-3, atol=2e-3)


def test_a_packed_batch_ends_each_sequence_at_its_length():
    """Without the gradient of the input: torch_npu packs with gaps, which torch's gradient of packing does not know."""
    module, x, lengths = torch.nn.LSTM(4, 5), torch.randn(6, 3, 4), torch.tensor([6, 4, 1])

    def outcome(device):
        there = copy.deepcopy(module).to(device)
        packed, states = there(torch.nn.utils.rnn.pack_padded_sequence(x.to(device), lengths))
        output = torch.nn.utils.rnn.pad_packed_sequence(packed)[0]
        output.square().sum().backward()
        return [output.detach(), *(t.detach() for t in states), *(p.grad for p in there.parameters())]

    for got, expected in zip(outcome(DEVICE), outcome("cpu"), strict=True):
        torch.testing.assert_close(got.cpu(), expected, rtol=1e-4, atol=1e-5)


def test_a_single_layer_takes_the_entry_point():
    before = torch_aclnn.host.statistics().calls.get("aclnnLSTM", 0)
    check(torch.nn.LSTM(4, 5), torch.randn(6, 3, 4))
    torch.nn.LSTM(4, 5).to(DEVICE)(torch.randn(6, 3, 4, device=DEVICE))
    torch.npu.synchronize()
    assert torch_aclnn.host.statistics().calls["aclnnLSTM"] == before + 2


@pytest.mark.parametrize("kind", [torch.nn.GRUCell, torch.nn.RNNCell])
@pytest.mark.parametrize("bias", [True, False])
def test_a_cell_and_its_gradients(kind, bias):
    check(kind(4, 5, bias=bias), torch.randn(3, 4))


def test_the_fused_lstm_cell():
    gates, hidden, c, bias = torch.randn(3, 20), torch.randn(3, 20), torch.randn(3, 5), torch.randn(20)
    of_h, of_c = torch.randn(3, 5), torch.randn(3, 5)
    leaves = [t.requires_grad_() for t in (gates, c, bias)]
    i, f, g, o = (gates + hidden + bias).chunk(4, 1)
    c_after = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h_after = o.sigmoid() * c_after.tanh()
    expected = torch.autograd.grad((h_after, c_after), leaves, (of_h, of_c))
    there = [t.detach().to(DEVICE) for t in (gates, hidden, c, bias)]
    h, c_there, storage = torch.ops.aten._thnn_fused_lstm_cell(*there, torch.zeros_like(there[3]))
    torch.testing.assert_close((h.cpu(), c_there.cpu()), (h_after.detach(), c_after.detach()))
    cotangents = (of_h.to(DEVICE), of_c.to(DEVICE))
    got = torch.ops.aten._thnn_fused_lstm_cell_backward_impl(*cotangents, there[2], c_there, storage, True)
    torch.testing.assert_close([t.cpu() for t in got], list(expected))


@refused_at_once
def test_dropout_between_layers_is_refused():
    module = torch.nn.LSTM(4, 5, num_layers=2, dropout=0.5).to(DEVICE)
    with pytest.raises(RuntimeError, match=r"dropout: expected 0, got 0\.5"):
        run(module, torch.randn(6, 3, 4, device=DEVICE))
        torch.npu.synchronize()
