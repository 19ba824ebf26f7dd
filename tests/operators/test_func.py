"""torch.func over our functions: each transform gives what it gives over torch's own function on cpu."""

import torch_aclnn
import pytest
import torch
from torch import Tensor, func, nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from support.functions import CASES_OF_IMAGES, for_each_function_of_images_in_turn, on_devices_in_turn
from support.marks import skip_if_torchs, skip_with


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=1e-4, atol=1e-5)


def both(case, device):
    """Return the two functions of the input alone, and the input on each one's device."""
    x, *others = case.inputs("cpu")
    moved = [t.to(device) for t in others]
    return (lambda x: case.ours(x, *moved), x.to(device)), (lambda x: case.theirs(x, *others), x)


def scalar(function):
    return lambda x: function(x).sin().sum()


TRANSFORMS = {
    "grad": lambda f, x: func.grad(scalar(f))(x),
    "grad of grad": lambda f, x: func.grad(lambda x: func.grad(scalar(f))(x).square().sum())(x),
    "vjp": lambda f, x: func.vjp(f, x)[1](f(x).cos())[0],
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacrev in chunks": lambda f, x: func.jacrev(f, chunk_size=7)(x),
    "jacrev of jacrev": lambda f, x: func.jacrev(func.jacrev(scalar(f)))(x),
    "vmap of grad of vmap": lambda f, x: func.vmap(func.grad(lambda x: scalar(func.vmap(f))(x)))(torch.stack([x, -x]).unsqueeze(1)),
    "vmap of jacrev": lambda f, x: func.vmap(func.jacrev(scalar(f)))(torch.stack([x, -x])),
    "jvp": lambda f, x: torch.stack(func.jvp(f, (x,), (x.cos(),))),
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "hessian": lambda f, x: func.hessian(scalar(f))(x),
    "jacrev of jacfwd": lambda f, x: func.jacrev(func.jacfwd(scalar(f)))(x),
    "linearize": lambda f, x: func.linearize(f, x)[1](x.cos()),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:Attempted to insert a get_attr Node", "ignore:`torch.jit.script`")
@on_devices_in_turn("case, transform", CASES_OF_IMAGES, TRANSFORMS)
def test_transforms_equal_those_of_torch(device, case, transform):
    if device == "npu" and 2 * len(case.sizes[0]) > 8 and transform in ("jacfwd", "hessian"):
        pytest.skip("the result has more than the eight dimensions that CANN takes")
    if device == "npu" and case.name == "batch_norm" and transform == "linearize":
        skip_with("2.8", "2.8", "torch.func.linearize of batch_norm on npu copies a null pointer")
    ours, theirs = both(case, device)
    expected = transform
    if device == "npu" and case.name == "batch_norm" and transform == "jacrev of jacfwd":
        expected = "jacrev of jacrev"  # torch's reverse derivative of its own forward one is wrong, on cpu too
    close(TRANSFORMS[transform](*ours), TRANSFORMS[expected](*theirs))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@for_each_function_of_images_in_turn
def test_vmap_takes_any_dimension_and_can_be_nested(device, case):
    x, *others = case.inputs(device)
    function = lambda x: case.ours(x, *others)
    inputs = [[(x * scale).sin() for scale in row] for row in ((1, 2), (3, 4), (5, 6))]
    rows = [[function(x) for x in row] for row in inputs]
    for dim in range(-1, x.dim() + 1):
        mapped = func.vmap(function, in_dims=dim, out_dims=dim)(torch.stack(inputs[0], dim))
        close(mapped, torch.stack(rows[0], dim))
    nested = func.vmap(func.vmap(function, in_dims=1, out_dims=0), in_dims=2, out_dims=1)
    # The outer one maps dimension 2 of all, and the inner one dimension 1 of what that leaves.
    mapped = nested(torch.stack([torch.stack(row, 1) for row in inputs], 2))
    close(mapped, torch.stack([torch.stack(row) for row in rows], 1))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@for_each_function_of_images_in_turn
def test_vmap_maps_each_tensor_or_some(device, case):
    first, second = case.inputs(device), case.inputs(device)
    for mapped in range(1, 2 ** len(first)):
        flags = [bool(mapped >> i & 1) for i in range(len(first))]
        stacked = [torch.stack([a, b], -1) if flag else a for a, b, flag in zip(first, second, flags, strict=True)]
        loop = [case.ours(*(b if flag and i else a for a, b, flag in zip(first, second, flags, strict=True))) for i in range(2)]
        close(func.vmap(case.ours, in_dims=tuple(-1 if flag else None for flag in flags))(*stacked), torch.stack(loop))


FUNCTIONALISED = {
    "functionalize": lambda f, x: func.functionalize(f)(x),
    "functionalize of grad": lambda f, x: func.functionalize(func.grad(scalar(f)))(x),
    "grad of functionalize": lambda f, x: func.grad(func.functionalize(scalar(f)))(x),
    "functionalize of vmap": lambda f, x: func.functionalize(func.vmap(f))(torch.stack([x, -x])),
    "make_fx": lambda f, x: make_fx(func.functionalize(f, remove="mutations_and_views"))(x)(x),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:Attempted to insert a get_attr Node")
@on_devices_in_turn("case, transform", CASES_OF_IMAGES, FUNCTIONALISED)
def test_functionalised_functions_equal_those_of_torch(device, case, transform):
    ours, theirs = both(case, device)
    close(FUNCTIONALISED[transform](*ours), FUNCTIONALISED[transform](*theirs))


@pytest.mark.parametrize("training", [True, False])
def test_functionalised_batch_norm_moves_its_statistics(device, training):
    ours, theirs, x = torch_aclnn.nn.BatchNorm1d(3).to(device).train(training), nn.BatchNorm1d(3).train(training), torch.randn(4, 3)
    close(func.functionalize(ours)(x.to(device)), theirs(x))
    close(ours.running_var, theirs.running_var)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("half_parameters", [False, True])
def test_vmap_refuses_running_statistics_that_are_not_mapped(device, nested, half_parameters):
    layer, x = torch_aclnn.nn.BatchNorm2d(3).to(device), torch.randn(5, 2, 3, 4, 4, device=device)
    layer = layer.half() if half_parameters else layer
    function, x = (func.vmap(layer), torch.stack([x, x])) if nested else (layer, x)
    with pytest.raises(
        RuntimeError, match=r"batch_norm: running_mean: expected a tensor that torch\.vmap maps .* `track_running_stats=False`"
    ):
        func.vmap(function)(x)
    assert torch.equal(layer.running_mean.cpu(), torch.zeros(3).to(layer.running_mean.dtype)) and torch.equal(
        layer.running_var.cpu(), torch.ones(3).to(layer.running_var.dtype)
    )
    assert func.vmap(layer.eval())(torch.randn(5, 2, 3, 4, 4, device=device).to(layer.running_mean.dtype)).shape == (5, 2, 3, 4, 4)


def make_model(library) -> nn.Module:
    pool = library.ReplicationPad2d(1), nn.Conv2d(2, 3, 3), library.BatchNorm2d(3, track_running_stats=False), library.AvgPool2d(2)
    return nn.Sequential(*pool, nn.Tanh(), library.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, 1))


def test_per_sample_gradients_by_functional_call(device):
    models = make_model(nn), make_model(torch_aclnn.nn).to(device)
    models[1].load_state_dict(models[0].state_dict())
    x = torch.randn(5, 3, 2, 8, 8)  # five samples of three images, because batch norm needs more than one
    results = []
    for model, where in zip(models, ("cpu", device), strict=True):
        loss = lambda parameters, x: func.functional_call(model, parameters, (x,)).square().sum()  # noqa: B023
        parameters = {name: p.detach() for name, p in model.named_parameters()}
        results.append(func.vmap(func.grad(loss), in_dims=(None, 0))(parameters, x.to(where)))
    for name, theirs in results[0].items():
        close(results[1][name], theirs)


def test_an_ensemble_of_stacked_modules(device):
    models = [make_model(torch_aclnn.nn).to(device) for _ in range(3)]
    parameters, buffers = func.stack_module_state(models)
    x = torch.randn(4, 2, 8, 8, device=device)
    outputs = func.vmap(lambda p, b, x: func.functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(parameters, buffers, x)
    close(outputs, torch.stack([model(x) for model in models]))


@on_devices_in_turn("case, recording", CASES_OF_IMAGES, (True, False))
def test_dual_tensors_equal_those_of_torch(device, case, recording):
    results = []
    for function, x in both(case, device):
        with forward_ad.dual_level(), torch.set_grad_enabled(recording):
            dual = forward_ad.make_dual(x.clone().requires_grad_(), x.cos())
            results.append(torch.stack(forward_ad.unpack_dual(function(dual))).detach())
    close(*results)


@for_each_function_of_images_in_turn
def test_forward_mode_through_an_earlier_backward_is_refused_by_name(device, case):
    skip_if_torchs(case.operator, device)
    (ours, x), _ = both(case, device)
    y, vjp = func.vjp(ours, x)
    words = r"[Bb]ackward: forward-mode differentiation is not implemented; use reverse mode \(torch.func.vjp, grad, jacrev\)"
    with pytest.raises(NotImplementedError, match=words):
        func.jvp(lambda v: vjp(v)[0], (y,), (y,))
    leaf = x.clone().requires_grad_()
    y = ours(leaf)
    for create_graph in (True, False):
        with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=words):
            torch.autograd.grad(y, leaf, forward_ad.make_dual(torch.ones_like(y), y.detach()), create_graph=create_graph, retain_graph=True)


def test_forward_mode_through_a_bare_operator_is_refused_by_name(device):
    grad = torch.ones(1, 1, 2, 2, device=device)
    op = lambda g: torch.ops.torch_aclnn.avg_pool2d_backward(g, (1, 1, 4, 4), (2, 2))
    words = "avg_pool2d_backward: forward-mode differentiation is not implemented"
    with pytest.raises(NotImplementedError, match=words):
        func.jvp(op, (grad,), (grad,))
    with torch.no_grad(), forward_ad.dual_level(), pytest.raises(NotImplementedError, match=words):
        op(forward_ad.make_dual(grad, grad))
