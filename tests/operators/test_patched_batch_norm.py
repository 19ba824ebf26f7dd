"""patch and batch norm: torch's modules compute what they did, by our operator."""

import copy
import functools

import torch_aclnn
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from support.marks import NOT_OFFERED, host_engine_only, of_a2_and_a3, skipped_if_torchs

OURS = "BatchNormBackward"
SHAPES = {nn.BatchNorm1d: (4, 3, 5), nn.BatchNorm2d: (4, 3, 5, 4), nn.BatchNorm3d: (4, 3, 5, 4, 2), nn.SyncBatchNorm: (4, 3, 5, 4)}
OPTIONS = [{}, {"affine": False}, {"track_running_stats": False}, {"momentum": None}]


@pytest.fixture(autouse=True)
def _torch_is_its_own_again():
    original = F.batch_norm
    yield
    torch_aclnn.unpatch()
    torch.compiler.reset()
    assert F.batch_norm is original


def make_layer(kind: type[nn.Module] = nn.BatchNorm2d, training: bool = True, **options) -> nn.Module:
    """Return a layer whose parameters and running statistics are not the initial ones."""
    layer = kind(3, **options)
    with torch.no_grad():
        for values in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
            if values is not None:
                values.copy_(torch.rand(3) + 0.5)
    return layer.npu().train(training)


def make_input(kind: type[nn.Module] = nn.BatchNorm2d, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(SHAPES[kind]).to(dtype).npu().requires_grad_()


def results(layer: nn.Module, x: Tensor) -> list[Tensor]:
    """Run two batches; return the second's output, its gradients and the buffers."""
    layer(x.detach() * 3)
    y = layer(x)
    gradients = torch.autograd.grad((y.float() * y.detach().float().sin()).sum(), (x, *layer.parameters()))
    return [t.detach().cpu() for t in (y, *gradients, *layer.buffers())]


def assert_equal(ours: list[Tensor], theirs: list[Tensor], **tolerances) -> None:
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, **(tolerances or {"rtol": 1e-4, "atol": 1e-5}))


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.__name__)
def test_modules_give_what_they_gave(kind, options, training):
    layer, x = make_layer(kind, training, **options), make_input(kind)
    theirs = results(copy.deepcopy(layer), x)
    with torch_aclnn.patch(batch_norm=True):
        assert_equal(results(layer, x), theirs)


@skipped_if_torchs("batch_norm_elemt")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.__name__)
def test_the_batchs_own_statistics_take_our_operator_and_given_ones_torchs(kind, options):
    with torch_aclnn.patch(batch_norm=True):
        assert make_layer(kind, True, **options)(make_input(kind)).grad_fn.name() == OURS
        evaluated = make_layer(kind, False, **options)(make_input(kind)).grad_fn.name()
    assert (evaluated == OURS) == ("track_running_stats" in options)


def test_scopes_may_differ():
    batch_norm, avg_pool2d = F.batch_norm, F.avg_pool2d
    outer = torch_aclnn.patch(batch_norm=False)
    with torch_aclnn.patch(batch_norm=True) as inner:
        assert inner.changed == ("torch.nn.functional.batch_norm",) and F.batch_norm is not batch_norm
    assert F.batch_norm is batch_norm and F.avg_pool2d is not avg_pool2d
    assert "torch.nn.functional.batch_norm" not in outer.changed and torch_aclnn.unpatch() == outer.changed


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@of_a2_and_a3
def test_under_autocast(dtype):
    model = nn.Sequential(nn.Conv2d(3, 3, 1), make_layer()).npu()
    x = make_input()

    def run(model: nn.Module) -> list[Tensor]:
        with torch.autocast("npu", dtype=dtype):
            return results(model, x)

    theirs = run(copy.deepcopy(model))
    with torch_aclnn.patch(batch_norm=True):
        ours = run(model)
    assert ours[0].dtype == dtype
    assert_equal(ours, theirs, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_model_of_a_half_type(dtype):
    layer, x = make_layer().to(dtype), make_input(dtype=dtype)
    theirs = results(copy.deepcopy(layer), x)
    with torch_aclnn.patch(batch_norm=True):
        assert_equal(results(layer, x), theirs, rtol=0.02, atol=0.02)


@host_engine_only
@pytest.mark.parametrize("backend", ["aot_eager", "eager"])
@pytest.mark.parametrize("options", [{}, {"track_running_stats": False}], ids=str)
def test_in_compiled_code(options, backend):
    layer, x = make_layer(**options), make_input()
    theirs = results(copy.deepcopy(layer), x)
    with torch_aclnn.patch(batch_norm=True):
        compiled = torch.compile(layer, backend=backend, fullgraph=True)
        torch_aclnn.host.reset()
        assert_equal(results(compiled, x), theirs)
        torch.npu.synchronize()
        is_torchs = "batch_norm_elemt" in NOT_OFFERED
        assert is_torchs or torch_aclnn.host.statistics().calls["aclnnBatchNormElemtBackward"] == 1


def test_the_plain_average_of_all_batches_in_compiled_code():
    layer, x = make_layer(momentum=None), make_input()
    theirs = results(copy.deepcopy(layer), x)
    with torch_aclnn.patch(batch_norm=True):
        assert_equal(results(torch.compile(layer, backend="eager"), x), theirs)  # float(num_batches_tracked) breaks torch's own graph too


@pytest.mark.parametrize("transform", [torch.func.grad, lambda f: lambda x: torch.func.vjp(f, x)[1](torch.ones((), device="npu"))[0]])
def test_under_transforms(transform):
    layer, x = make_layer(track_running_stats=False), make_input().detach()
    gradient = transform(lambda x: layer(x).sin().sum())
    theirs = gradient(x)
    with torch_aclnn.patch(batch_norm=True):
        assert_equal([gradient(x).cpu()], [theirs.cpu()])


def test_an_ensemble_has_running_statistics_of_each_member():
    layers, x = [make_layer() for _ in range(3)], make_input().detach()
    loop = [results(copy.deepcopy(layer), x.requires_grad_()) for layer in layers]
    parameters, buffers = torch.func.stack_module_state(layers)
    call = lambda p, b, x: torch.func.functional_call(layers[0], (p, b), (x,))
    with torch_aclnn.patch(batch_norm=True):
        torch.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x.detach() * 3)
        y = torch.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x.detach())
    assert_equal(list(y.detach().cpu()), [member[0] for member in loop])
    assert_equal(list(buffers["running_var"].cpu()), [member[-2] for member in loop])


def test_what_torch_refuses_is_refused_with_function_and_parameter():
    with torch_aclnn.patch(batch_norm=True), pytest.raises(ValueError, match="batch_norm: input: expected more than one value per channel"):
        make_layer()(torch.ones(1, 3, 1, 1, device="npu"))


@host_engine_only
@skipped_if_torchs("batch_norm_elemt")
def test_a_step_takes_the_launches_of_a_converted_model():
    launches = []
    for prepare in (lambda m: m, functools.partial(torch_aclnn.convert, batch_norm=True)):
        layer, x = prepare(make_layer()), make_input()
        torch.npu.synchronize()
        with torch_aclnn.patch(batch_norm=True):
            torch_aclnn.host.reset()
            torch.autograd.grad(layer(x), (x, *layer.parameters()), torch.ones_like(x))
            torch.npu.synchronize()
        launches.append(torch_aclnn.host.statistics().calls)
    assert launches[0] == launches[1] and "aclnnBatchNormElemtBackward" in launches[0]
