"""patch: torch.nn.functional on npu takes our functions while it is in force."""

import re
import threading
import warnings

import torch_aclnn
import pytest
import torch
from torch.nn import functional as F
from torch_aclnn._operators import OPERATORS
from torch_aclnn.check.families import SPECIFICATIONS

from support.functions import NO_UNPOOLING_WITHOUT_DATA
from support.marks import skip_if_torchs, skip_with
from support.threads import on_threads

NAMES = sorted(
    {name if operator.family != "padding" else "pad" for operator in OPERATORS for name in operator.functions if name != "sync_batch_norm"}
)
ORIGINALS = {name: getattr(F, name) for name in NAMES}


@pytest.fixture(autouse=True)
def _torch_is_its_own_again():
    yield
    torch_aclnn.unpatch()
    torch.compiler.reset()
    assert all(getattr(F, name) is original for name, original in ORIGINALS.items())


def planes(device: str, **kwargs) -> torch.Tensor:
    return torch.randn(2, 3, 6, 6, device=device, requires_grad=True, **kwargs)


def torchs_own(operator, x: torch.Tensor) -> torch.Tensor:
    """Call the function in torch.nn.functional, whichever that is now."""
    return SPECIFICATIONS[operator.name].layers(x)[1](x)


def sample_of(operator, device: str) -> torch.Tensor:
    shape = SPECIFICATIONS[operator.name].tiny_layer_shape
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(device).requires_grad_()


def name_of_ours(operator) -> str:
    x = sample_of(operator, "npu")
    return SPECIFICATIONS[operator.name].layers(x)[0](x).grad_fn.name()


of_each_operator = pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)


@of_each_operator
def test_functions_on_npu_take_our_path_while_patched(operator):
    skip_if_torchs(operator.name, "npu")
    x = sample_of(operator, "npu")
    with torch_aclnn.patch(batch_norm=True):
        assert torchs_own(operator, x).grad_fn.name() == name_of_ours(operator)
    assert torchs_own(operator, x).grad_fn.name() != name_of_ours(operator)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (torch.nn.AvgPool2d(2), "AvgPool2dBackward"),
        (torch.nn.AdaptiveAvgPool2d(2), "AdaptiveAvgPool2dBackward"),
        (torch.nn.ReplicationPad2d(1), "ReplicationPad2dBackward"),
    ],
    ids=repr,
)
def test_modules_of_torch_follow(module, name):
    with torch_aclnn.patch():
        assert module(planes("npu")).grad_fn.name() == name


@of_each_operator
def test_results_and_gradients_stay_those_of_torch(operator):
    x = sample_of(operator, "npu")
    gradient = lambda: torch.autograd.grad(torchs_own(operator, x).square().sum(), x)[0].cpu()
    theirs = gradient()
    with torch_aclnn.patch(batch_norm=True):
        torch.testing.assert_close(gradient(), theirs)


@of_each_operator
def test_other_devices_are_left_alone(operator):
    skip_if_torchs(operator.name, "npu")
    with torch_aclnn.patch(batch_norm=True):
        assert torchs_own(operator, sample_of(operator, "cpu")).grad_fn.name() != name_of_ours(operator)
        if operator.function == "max_unpool3d":
            skip_with(*NO_UNPOOLING_WITHOUT_DATA)
        assert torchs_own(operator, sample_of(operator, "meta")).device.type == "meta"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: F.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False), "AvgPool2dBackward"),
        (lambda x: F.adaptive_avg_pool2d(x, (None, 2)), "AdaptiveAvgPool2dBackward"),
        (lambda x: F.pad(x, (1, 2, 3, 0), mode="replicate"), "ReplicationPad2dBackward"),
    ],
)
def test_arguments_of_any_kind_reach_our_functions(call, name):
    x = planes("npu")
    theirs = call(x)
    with torch_aclnn.patch():
        ours = call(x)
    assert ours.grad_fn.name() == name and torch.equal(ours.cpu(), theirs.cpu())


@pytest.mark.parametrize(
    "pad",
    [
        lambda x: F.pad(x, (1, 1), mode="replicate"),
        lambda x: F.pad(x, (1, 1, 1, 1)),
        lambda x: F.pad(x, (1, 1, 1, 1), "reflect"),
        lambda x: F.pad(x, (1, 1, 1, 1), "constant", 2.0),
    ],
)
def test_other_padding_is_left_alone(pad):
    x = planes("npu").detach()[0].requires_grad_()
    with torch_aclnn.patch():
        patched = pad(x)
    assert torch.equal(patched.cpu(), pad(x.cpu())) and "ReplicationPad2d" not in patched.grad_fn.name()


def test_arguments_go_by_position_and_by_name():
    x = planes("npu")
    with torch_aclnn.patch():
        assert F.avg_pool2d(input=x, kernel_size=2, ceil_mode=True).grad_fn.name() == "AvgPool2dBackward"
        assert F.pad(input=x, pad=[1, 1, 1, 1], mode="replicate").grad_fn.name() == "ReplicationPad2dBackward"


def test_what_the_operators_do_not_take_goes_to_torch():
    x = planes("npu").detach()
    with torch_aclnn.patch():
        assert F.avg_pool2d(x, 2, divisor_override=300).shape == (2, 3, 3, 3)
        assert F.pad(x, (6, 6, 6, 6), mode="replicate").shape == (2, 3, 18, 18)


def test_what_torch_does_not_take_is_an_error_with_function_and_parameter():
    with torch_aclnn.patch(), pytest.raises(ValueError, match="avg_pool2d: padding: expected at most half of kernel_size"):
        F.avg_pool2d(planes("npu"), 2, padding=2)


def test_subclasses_of_tensor_go_to_torch():
    class Named(torch.Tensor):
        pass

    x = planes("npu").detach().as_subclass(Named)
    with torch_aclnn.patch():
        assert type(F.avg_pool2d(x, 2)) is Named


def registered_in(operator: str) -> set[str]:
    """Return the source files that torch's dispatcher names for the operator's kernels."""
    return set(re.findall(r"registered at (\S+):\d+", torch._C._dispatch_dump(operator)))


def test_no_kernel_of_an_aten_operator_is_replaced():
    forwards = (
        "avg_pool2d",
        "adaptive_avg_pool2d",
        "_adaptive_avg_pool2d",
        "replication_pad2d",
        "max_unpool3d",
        "pad",
        "native_batch_norm",
    )
    with torch_aclnn.patch():
        for name in forwards:
            assert not any("csrc/extension" in path for path in registered_in(f"aten::{name}"))
    assert any("csrc/extension" in path for path in registered_in("torch_aclnn::avg_pool2d_backward"))


def test_the_changes_are_listed_once():
    first = torch_aclnn.patch(batch_norm=True)
    assert first.changed == tuple(f"torch.nn.functional.{name}" for name in NAMES) and "avg_pool2d" in repr(first)
    assert torch_aclnn.patch(batch_norm=True).changed == ()
    assert torch_aclnn.unpatch() == first.changed
    assert torch_aclnn.unpatch() == ()


def test_a_scope_within_a_patch_leaves_it_in_force():
    torch_aclnn.patch()
    with torch_aclnn.patch():
        pass
    assert F.avg_pool2d is not ORIGINALS["avg_pool2d"]


def test_an_exception_ends_the_scope():
    with pytest.raises(KeyError), torch_aclnn.patch():
        raise KeyError
    assert F.avg_pool2d is ORIGINALS["avg_pool2d"]


def test_scopes_of_threads_may_overlap():
    barrier = threading.Barrier(4)

    def work() -> None:
        x = planes("npu")
        barrier.wait()
        for _ in range(50):
            with torch_aclnn.patch():
                assert F.avg_pool2d(x, 2).grad_fn.name() == "AvgPool2dBackward"

    on_threads(4, work)


def test_a_function_that_other_code_replaced_is_left_alone(monkeypatch):
    theirs = lambda *args, **kwargs: None
    with monkeypatch.context() as other:
        other.setattr(F, "avg_pool2d", theirs)
        with pytest.warns(UserWarning, match="avg_pool2d was replaced by other code") as warned:
            assert len(torch_aclnn.patch(batch_norm=True).changed) == len(NAMES) - 1
        assert F.avg_pool2d is theirs and [w.filename for w in warned] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch_aclnn.unpatch()


@pytest.mark.parametrize("backend", ["aot_eager", "eager"])
def test_a_patched_model_compiles(backend):
    model = torch.nn.Sequential(torch.nn.ReplicationPad2d(1), torch.nn.AvgPool2d(2), torch.nn.AdaptiveAvgPool2d(2))
    x = planes("npu")
    with torch_aclnn.patch():
        compiled = torch.compile(model, backend=backend, fullgraph=True)(x)
        torch_aclnn.host.statistics(reset=True)
        grad = torch.autograd.grad(compiled.square().sum(), x)[0]
        torch.npu.synchronize()
        assert torch_aclnn.host.statistics().calls["aclnnAvgPool2dBackward"] == 1
    expected = torch.autograd.grad(model(x).square().sum(), x)[0]
    torch.testing.assert_close(grad.cpu(), expected.cpu())


def test_compiled_code_follows_the_switch():
    x = planes("npu")
    compiled = torch.compile(lambda x: F.avg_pool2d(x, 2), backend="eager", fullgraph=True)
    names = [type(compiled(x).grad_fn).__name__]
    with torch_aclnn.patch():
        names.append(type(compiled(x).grad_fn).__name__)
    names.append(type(compiled(x).grad_fn).__name__)
    assert names[0] == names[2] == "AvgPool2DBackward0" != names[1]
