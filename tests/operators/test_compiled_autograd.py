"""Compiled autograd: the backward of an eager forward is recorded as a graph and compiled."""

import contextlib

import torch_aclnn
import pytest
import torch
from torch import Tensor, nn
from torch._dynamo import compiled_autograd

from support.functions import for_each_function_of_images_in_turn


@pytest.fixture(autouse=True)
def _forget_compiled_code():
    yield
    torch._dynamo.reset()


def backward(is_compiled: bool) -> contextlib.AbstractContextManager[None]:
    return compiled_autograd._enable(torch.compile(backend="aot_eager", fullgraph=True)) if is_compiled else contextlib.nullcontext()


def results(is_compiled: bool, function, x: Tensor, *others: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradient of the function's output, through its node, and the gradient of that gradient, through the operator's node."""
    x = x.detach().requires_grad_()
    y = function(x, *others)
    weights = y.detach().cos().requires_grad_()
    (gradient,) = torch.autograd.grad(y, x, weights, create_graph=True)
    with backward(is_compiled):
        gradient.sin().sum().backward(inputs=[weights])
        y.sin().sum().backward()
    return x.grad, weights.grad


@pytest.mark.slow
@for_each_function_of_images_in_turn
def test_gradients_are_those_of_eager_code(device, case):
    for size in case.sizes:
        inputs = case.inputs(device, size=size)
        expected, actual = (results(is_compiled, case.ours, *inputs) for is_compiled in (False, True))
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "wanted"), [(torch.float16, (True, True, True)), (torch.float32, (True, False, False)), (torch.float32, (False, False, True))]
)
def test_batch_norm_computes_the_wanted_gradients(device, dtype, wanted):
    x, parameters = torch.randn(4, 3, 5, device=device, dtype=dtype), [torch.rand(3, device=device) for _ in range(2)]
    found = []
    for is_compiled in (False, True):
        tensors = [t.clone().requires_grad_(want) for t, want in zip((x, *parameters), wanted, strict=True)]
        loss = torch_aclnn.functional.batch_norm(tensors[0], None, None, *tensors[1:], training=True).float().sin().sum()
        with backward(is_compiled):
            loss.backward()
        found.append([t.grad for t in tensors])
    assert [g is not None for g in found[1]] == list(wanted)
    torch.testing.assert_close(*found, rtol=1e-3 if dtype == torch.float16 else 1e-5, atol=1e-5)


def test_a_converted_network_trains_with_hooks_and_changing_sizes(device):
    def train(is_compiled: bool) -> list[Tensor]:
        torch.manual_seed(0)
        layers = nn.ReflectionPad2d(1), nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(2)
        model = torch_aclnn.convert(nn.Sequential(*layers, nn.Flatten(), nn.Linear(8, 1)), batch_norm=True).to(device)
        for size in (8, 8, 12, 10):
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t.to(device)):
                loss = model(torch.randn(3, 1, size, size).to(device)).square().sum()
            loss.register_hook(lambda g: 2 * g)
            with backward(is_compiled):
                loss.backward()
        return [p.grad for p in model.parameters()]

    torch.testing.assert_close(train(True), train(False), rtol=1e-4, atol=1e-4)
