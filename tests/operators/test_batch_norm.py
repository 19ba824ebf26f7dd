"""Batch norm as a whole, function and modules, against that of torch."""

import torch_aclnn
import pytest
import torch


def batch_norm(**options):
    return lambda x, w, b: torch_aclnn.functional.batch_norm(x, None, None, w, b, training=True, **options)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_equals_torch(device, shape, affine):
    x = torch.randn(shape)
    parameters = [torch.rand(3) + 0.5, torch.randn(3)] if affine else [None, None]
    results = []
    for fn, where in ((torch.nn.functional.batch_norm, "cpu"), (torch_aclnn.functional.batch_norm, device)):
        inputs = [None if t is None else t.clone().to(where).requires_grad_() for t in (x, *parameters)]
        running = torch.zeros(3, device=where), torch.ones(3, device=where)
        y = fn(inputs[0], *running, *inputs[1:], training=True, momentum=0.3, eps=1e-3)
        (y * y.detach().sin()).sum().backward()
        results.append([t.detach().cpu() for t in (y, *running, *(i.grad for i in inputs if i is not None))])
    for theirs, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


RUNS = {
    "eager": lambda f: f,
    "compiled": lambda f: torch.compile(f, backend="eager"),
    "vmap": lambda f: lambda x, mean, var, w: torch.vmap(f)(x[None], mean[None], var[None], w[None]),
}


@pytest.mark.parametrize("parameters", [torch.float32, torch.float16])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("run", RUNS)
def test_the_running_variance_is_exact_far_below_eps(device, run, grad, dtype, parameters):
    scale = 1e-5 if parameters == torch.float32 else 1e-2  # the type can represent its square
    x = torch.cat((torch.randn(64, 2) * scale, torch.full((64, 1), 0.75)), 1).to(dtype)
    mean, var, weight = (torch.zeros(3, device=device, dtype=parameters) for _ in range(3))
    with torch.set_grad_enabled(grad):
        function = lambda x, mean, var, w: torch_aclnn.functional.batch_norm(x, mean, var, w, None, True, 0.5, eps=1e3)
        RUNS[run](function)(x.to(device), mean, var, weight.requires_grad_(grad))
    exact = [(0.5 * t).to(parameters) for t in (x.double().mean(0), x.double().var(0))]
    tolerance = 4 * torch.finfo(parameters).eps
    torch.testing.assert_close(mean.cpu(), exact[0], rtol=tolerance, atol=1e-11)
    torch.testing.assert_close(var.cpu(), exact[1], rtol=tolerance, atol=0)


def test_batch_norm_of_an_empty_batch_is_empty_and_keeps_the_running_statistics(device):
    x, mean, var = torch.empty(0, 3, 4, device=device, requires_grad=True), torch.randn(3, device=device), torch.rand(3, device=device)
    kept = mean.clone(), var.clone()
    y = torch_aclnn.functional.batch_norm(x, mean, var, training=True)
    y.sum().backward()
    assert y.shape == x.grad.shape == x.shape
    assert torch.equal(mean.cpu(), kept[0].cpu()) and torch.equal(var.cpu(), kept[1].cpu())


def test_batch_norm_in_evaluation_equals_torch(device):
    x, mean, var = torch.randn(2, 3, 4, device=device), torch.randn(3, device=device), torch.rand(3, device=device) + 1
    ours, theirs = (f.batch_norm(x, mean, var) for f in (torch_aclnn.functional, torch.nn.functional))
    assert torch.equal(ours.cpu(), theirs.cpu())


def test_batch_norm_of_half_types_keeps_their_type(device):
    x = torch.randn(4, 3, 5, device=device, dtype=torch.bfloat16, requires_grad=True)
    weight, bias = torch.ones(3, device=device, requires_grad=True), torch.zeros(3, device=device, requires_grad=True)
    y = batch_norm()(x, weight, bias)
    y.float().square().sum().backward()
    assert y.dtype == x.grad.dtype == torch.bfloat16 and weight.grad.dtype == torch.float32


def test_gradcheck_in_float64_on_cpu():
    x = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    w, b = ((torch.rand(2, dtype=torch.float64) + 0.5).requires_grad_(), torch.randn(2, dtype=torch.float64, requires_grad=True))
    for inputs in ((x, w, b), (x, None, None)):
        assert torch.autograd.gradcheck(batch_norm(), inputs) and torch.autograd.gradgradcheck(batch_norm(), inputs)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x: f(x[0, 0, 0], None, None, training=True), ValueError, "batch_norm: input: expected 2 dimensions or more"),
        (
            lambda f, x: f(x, None, None, torch.ones(2), training=True),
            ValueError,
            r"batch_norm: weight: expected shape \(3,\) for input \(2, 3, 4, 4\), got \(2,\)",
        ),
        (lambda f, x: f(x, None, None, 1.0, training=True), TypeError, "batch_norm: weight: expected a Tensor, got float"),
        (
            lambda f, x: f(x.int(), None, None, training=True),
            TypeError,
            "batch_norm: input: expected a floating-point dtype, got torch.int32",
        ),
        (lambda f, x: f(x, None, None, torch.ones(3).long(), training=True), TypeError, "batch_norm: weight: expected a floating-point"),
        (lambda f, x: f(x[:1, :, :1, :1], None, None, training=True), ValueError, "more than one value per channel"),
        (
            lambda f, x: f(x, None, None, training=True, eps=0.0),
            ValueError,
            "batch_norm: eps: expected a positive number in training, got 0.0",
        ),
        (lambda f, x: f(x, None, None, training=True, momentum=None), TypeError, "batch_norm: momentum: expected a number, got None"),
        (lambda f, x: f(x, None, None, training=True, eps="1e-5"), TypeError, "batch_norm: eps: expected a number, got '1e-5'"),
    ],
)
def test_bad_arguments_are_refused_by_name(device, call, error, words):
    with pytest.raises(error, match=words):
        call(torch_aclnn.functional.batch_norm, torch.zeros(2, 3, 4, 4, device=device))


@pytest.mark.parametrize("momentum", [0.3, None])
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"track_running_stats": False}])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_modules_have_the_state_repr_and_results_of_torch(device, dims, options, momentum):
    ours, theirs = (getattr(nn, f"BatchNorm{dims}d")(3, momentum=momentum, **options) for nn in (torch_aclnn.nn, torch.nn))
    assert repr(ours) == repr(theirs)
    ours.load_state_dict(theirs.state_dict())
    ours.to(device)
    for module in (torch.nn.Module.train, torch.nn.Module.train, torch.nn.Module.eval):
        x = torch.randn(4, 3, *(5, 4, 2)[: dims if dims > 1 else 0])
        results = [module(m)(x.to(where)) for m, where in ((ours, device), (theirs, "cpu"))]
        torch.testing.assert_close(results[0].cpu(), results[1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close({k: v.cpu() for k, v in ours.state_dict().items()}, theirs.state_dict(), rtol=1e-4, atol=1e-5)


def test_modules_refuse_another_rank():
    with pytest.raises(ValueError, match="expected 4D input"):
        torch_aclnn.nn.BatchNorm2d(3)(torch.ones(2, 3))
