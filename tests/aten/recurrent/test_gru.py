"""gru.cpp: recurrent layers in every arrangement; cells, which torch computes by matmuls and activations."""

import pytest
import torch
from recurrent_layers import Layers, same


class TestGru(Layers):
    kind, states = torch.nn.GRU, 1


@pytest.mark.parametrize("kind", [torch.nn.GRUCell, torch.nn.RNNCell])
@pytest.mark.parametrize("bias", [True, False])
def test_a_cell_and_its_gradients(kind, bias):
    same(kind(4, 5, bias=bias), torch.randn(3, 4))
