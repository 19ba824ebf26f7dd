"""lstm.cpp: recurrent layers in every arrangement, and the cell."""

import copy

import torch_aclnn
import pytest
import torch
from checks import DEVICE
from recurrent_layers import Layers, run

from support.marks import refused_at_once


class TestLstm(Layers):
    kind, states = torch.nn.LSTM, 2


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
    torch.nn.LSTM(4, 5).to(DEVICE)(torch.randn(6, 3, 4, device=DEVICE))
    torch.npu.synchronize()
    assert torch_aclnn.host.statistics().calls["aclnnLSTM"] == before + 1


@pytest.mark.parametrize(("units", "scale"), [(5, 1), (37, 1), (64, 40)])
def test_the_fused_lstm_cell(units, scale):
    """Cells are whole vectors and the rest behind them, with gates so large that their exponentials have no float32."""
    gates, hidden, bias = (scale * torch.randn(*sizes, 4 * units) for sizes in ((3,), (3,), ()))
    c, of_h, of_c = torch.randn(3, 3, units)
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


def test_a_closed_gate_is_zero():
    """What an infinite state gives is then no number, as in torch."""
    gates, state = torch.tensor([[0.0, -torch.inf, 0.0, 0.0]], device=DEVICE), torch.tensor([[torch.inf]], device=DEVICE)
    h, c, storage = torch.ops.aten._thnn_fused_lstm_cell(gates, torch.zeros_like(gates), state)
    assert h.isnan().all() and c.isnan().all() and storage.cpu().equal(torch.tensor([[0.5, 0.0, 0.0, 0.5]]))


@refused_at_once
def test_dropout_between_layers_is_refused():
    module = torch.nn.LSTM(4, 5, num_layers=2, dropout=0.5).to(DEVICE)
    with pytest.raises(RuntimeError, match=r"dropout: expected 0, got 0\.5"):
        run(module, torch.randn(6, 3, 4, device=DEVICE))
        torch.npu.synchronize()
