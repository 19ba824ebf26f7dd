"""Autograd's own machinery over our functions: hooks, checkpoints, modes, threads, and inputs that changed."""

import pytest
import torch
from torch import Tensor
from torch.autograd import graph
from torch.utils.checkpoint import checkpoint

from support.functions import CASES, for_each_function, for_each_function_in_turn, gradient, keeps_its_input, on_devices_in_turn
from support.marks import is_torchs, skip_if_torchs
from support.threads import on_threads


def test_saved_tensors_can_be_packed_elsewhere(device):
    for case in CASES:
        inputs = case.inputs(device)
        expected, packed = gradient(case.ours, *inputs), []
        with graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t.cpu(), lambda t: t.to(device)):  # noqa: B023
            assert torch.equal(gradient(case.ours, *inputs), expected)
        assert bool(packed) == bool(case.saved) or is_torchs(case.operator, device)


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@for_each_function
def test_gradients_are_those_of_finite_differences(case, check):
    x, *others = case.inputs("cpu", torch.float64)
    others = [t.double() if t.is_floating_point() else t for t in others]
    assert check(lambda x: case.ours(x, *others), x.requires_grad_(), fast_mode=True)


@on_devices_in_turn("case, use_reentrant", CASES, (True, False))
def test_checkpoint(device, case, use_reentrant):
    x, *others = case.inputs(device)
    function = lambda x: case.ours(x.sin(), *others)
    grads = []
    for call in (function, lambda x: checkpoint(function, x, use_reentrant=use_reentrant)):
        leaf = x.clone().requires_grad_()
        call(leaf).square().sum().backward()
        grads.append(leaf.grad)
    assert torch.equal(*grads)


@for_each_function_in_turn
def test_hooks_see_and_change_gradients(device, case):
    x, *others = case.inputs(device)
    x.requires_grad_()
    y, seen = case.ours(x, *others), []
    y.register_hook(lambda g: 2 * g)
    y.grad_fn.register_prehook(lambda grads: seen.append(len(grads)))
    y.sum().backward()
    doubled = gradient(case.ours, x, *others, grad_output=2 * torch.ones_like(y))
    assert torch.equal(x.grad, doubled) and seen


@for_each_function_in_turn
def test_a_graph_can_be_kept_and_differentiated_again(device, case):
    x, *others = case.inputs("cpu")
    results = []
    reference = case.definition or case.theirs
    for function, where in ((case.ours, device), (reference, "cpu")):
        leaf = x.to(where).requires_grad_()
        y = function(leaf, *(t.to(where) for t in others)).sin()
        once = torch.autograd.grad(y.sum(), leaf, retain_graph=True)[0]
        first = torch.autograd.grad(y.sum(), leaf, create_graph=True)[0]
        second = torch.autograd.grad(first.square().sum(), leaf, create_graph=True)[0]
        third = torch.autograd.grad(second.sin().sum(), leaf)[0]
        torch.testing.assert_close(once, first)
        results.append([t.detach().cpu() for t in (first, second, third)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3 * theirs.abs().max().item())


@for_each_function_in_turn
def test_a_freed_graph_is_refused(device, case):
    x, *others = case.inputs(device)
    y = case.ours(x.requires_grad_(), *others).exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


@pytest.mark.parametrize(("case", "place"), [pytest.param(c, place, id=f"{c.name}-{place}") for c in CASES for place in c.saved])
def test_a_saved_tensor_changed_in_place_is_refused(device, case, place):
    skip_if_torchs(case.operator, device)
    x, *others = inputs = [t.clone() for t in case.inputs(device)]
    leaf = x.clone().requires_grad_()
    inputs[0] = leaf * 1
    y = case.ours(inputs[0], *others)
    with torch.no_grad():
        inputs[place].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


for_each_that_does_not_save_its_input = on_devices_in_turn("case", [case for case in CASES if 0 not in case.saved])


@for_each_that_does_not_save_its_input
def test_an_input_that_is_not_saved_may_change_in_place(device, case):
    skip_if_torchs(case.operator, device)
    x, *others = case.inputs(device)
    leaf = x.clone().requires_grad_()
    copy = leaf * 1
    y = case.ours(copy, *others)
    with torch.no_grad():
        copy.zero_()
    y.sum().backward()
    assert torch.equal(leaf.grad, gradient(case.ours, x, *others, grad_output=torch.ones_like(y)))


@for_each_that_does_not_save_its_input
def test_an_input_that_is_not_saved_is_not_kept_alive(device, case):
    skip_if_torchs(case.operator, device)
    x, *others = case.inputs(device)
    assert not keeps_its_input(lambda x: case.ours(x, *others), x)


@for_each_function_in_turn
def test_no_graph_is_recorded_where_none_is_wanted(device, case):
    x, *others = case.inputs(device)
    expected = case.ours(x, *others)
    x.requires_grad_()
    with torch.no_grad():
        y = case.ours(x, *others)
    assert not y.requires_grad and torch.allclose(y, expected, rtol=1e-5, atol=1e-5)
    with torch.inference_mode():
        y = case.ours(x, *others)
    assert y.is_inference() and torch.allclose(y, expected, rtol=1e-5, atol=1e-5)


@for_each_function_in_turn
def test_anomaly_mode_names_the_function_that_gave_nan(device, case):
    skip_if_torchs(case.operator, device)
    x, *others = case.inputs(device)
    with torch.autograd.detect_anomaly(check_nan=True), pytest.warns(UserWarning, match="Error detected in"):
        y = case.ours(x.requires_grad_(), *others)
        with pytest.raises(RuntimeError, match=r"Function '\w+Backward' returned nan values in its 0th output"):
            y.backward(torch.full_like(y, float("nan")))


class Named(Tensor):
    """A subclass that only watches what is called on it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


@for_each_function_in_turn
def test_tensor_subclasses_work(device, case):
    """The functions in Python take them, whose sums may be rounded in another order."""
    inputs = case.inputs(device)
    Named.calls = []
    of_subclass = gradient(case.ours, inputs[0].as_subclass(Named), *inputs[1:]).as_subclass(Tensor)
    torch.testing.assert_close(of_subclass, gradient(case.ours, *inputs))
    parameter = torch.nn.Parameter(inputs[0])
    y = case.ours(parameter, *inputs[1:])
    y.sum().backward()
    assert Named.calls and parameter.grad is not None and type(y) is Tensor


def test_threads_record_and_run_backward_at_once(device):
    calls = [(case, inputs, gradient(case.ours, *inputs)) for case in CASES for inputs in [case.inputs(device)]]

    def work() -> None:
        for case, inputs, expected in calls * 3:
            assert torch.equal(gradient(case.ours, *inputs), expected), case.name

    on_threads(4, work)


@for_each_function_in_turn
def test_backward_of_one_graph_from_several_threads(device, case):
    inputs = case.inputs(device)
    leaf = inputs[0].clone().requires_grad_()
    y = case.ours(leaf, *inputs[1:])
    ones = torch.ones_like(y)
    on_threads(3, lambda: y.backward(ones, retain_graph=True))
    torch.testing.assert_close(leaf.grad, 3 * gradient(case.ours, *inputs, grad_output=ones))
