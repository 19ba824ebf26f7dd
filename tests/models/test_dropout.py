"""Dropout on npu: its share, its gradient, and that the seed alone decides."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from examples.models.recipes import RECIPES
from support.training import batch


def dropped(seed: int, p: float = 0.3) -> torch.Tensor:
    torch.manual_seed(seed)
    return nn.functional.dropout(torch.ones(64, 1024, device="npu"), p).cpu()


def test_the_seed_decides_what_is_dropped():
    assert torch.equal(dropped(1), dropped(1))
    assert not torch.equal(dropped(1), dropped(2))


def test_the_generator_goes_on_from_call_to_call():
    first = dropped(1)
    second = nn.functional.dropout(torch.ones(64, 1024, device="npu"), 0.3).cpu()
    assert not torch.equal(first, second)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_a_share_of_p_is_zero_and_the_rest_is_scaled(p):
    values = dropped(1, p)
    share = (values == 0).double().mean().item()
    assert share == pytest.approx(p, abs=5 * (p * (1 - p) / values.numel()) ** 0.5)  # five standard deviations
    kept = values[values != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p) if p < 1 else 0))


def test_the_gradient_is_dropped_with_the_value():
    x = torch.randn(64, 64, device="npu", requires_grad=True)
    y = nn.functional.dropout(x, 0.4)
    y.sum().backward()
    torch.testing.assert_close(x.grad * x.detach(), y.detach())


def test_eval_mode_drops_nothing():
    x = torch.randn(8, 8, device="npu")
    assert torch.equal(nn.Dropout(0.5).eval()(x), x)


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
