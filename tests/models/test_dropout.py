"""Dropout on npu: that the seed alone decides. Its share and its gradient are in tests/aten/random."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from examples.models.recipes import RECIPES
from support.training import batch


@pytest.mark.parametrize("name", ["inception", "transformer"])
def test_a_network_with_dropout_repeats_its_gradients_with_the_seed(name):
    torch.manual_seed(0)
    model, (x, y) = RECIPES[name].model().npu(), (t.npu() for t in batch(name))

    def gradients(seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        return torch.autograd.grad(RECIPES[name].loss(model(x), y), list(model.parameters()))

    assert all(torch.equal(a, b) for a, b in zip(gradients(1), gradients(1), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(gradients(1), gradients(2), strict=True))


def test_a_checkpointed_block_draws_the_same_mask_again():
    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.5), nn.Linear(16, 16)).npu()
    x = torch.randn(8, 16, device="npu")

    def gradients(run) -> list[torch.Tensor]:
        torch.manual_seed(5)
        return torch.autograd.grad(run().square().sum(), list(block.parameters()))

    plain = gradients(lambda: block(x))
    again = gradients(lambda: checkpoint(block, x, use_reentrant=False))
    assert all(torch.equal(a, b) for a, b in zip(plain, again, strict=True))
