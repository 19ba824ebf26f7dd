"""convert: a model's modules become ours, and nothing else of it changes."""

import copy
import functools
import pickle

import torch_aclnn
import pytest
import torch
from torch_aclnn._operators import OPERATORS

from support.marks import host_engine_only, skipped_if_torchs
from support.turned import make_model


def test_gives_the_same_gradients_through_our_operators(device):
    theirs = make_model().to(device)
    ours = torch_aclnn.convert(copy.deepcopy(theirs), batch_norm=True)
    x = torch.randn(2, 3, 6, 6, device=device, requires_grad=True)
    for model in (theirs, ours):
        model(x).square().sum().backward()
    assert [type(m).__module__ for m in ours.modules()].count("torch_aclnn.nn") == 4
    for (name, a), b in zip(theirs.named_parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(b.grad.cpu(), a.grad.cpu(), msg=lambda words, name=name: f"{name}: {words}", rtol=1e-4, atol=1e-5)
    torch.testing.assert_close({k: v.cpu() for k, v in ours.state_dict().items()}, {k: v.cpu() for k, v in theirs.state_dict().items()})


def test_keeps_parameters_buffers_mode_device_and_names(device):
    model = make_model().to(device).eval()
    before = {name: value.data_ptr() for name, value in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters())
    assert torch_aclnn.convert(model) is model
    assert {name: value.data_ptr() for name, value in model.state_dict().items()} == before
    assert not any(m.training for m in model.modules())
    assert {id(p) for p in optimizer.param_groups[0]["params"]} == {id(p) for p in model.parameters()}
    assert {p.device.type for p in model.parameters()} == {device}


PACKAGES = torch.nn, torch_aclnn.nn


@pytest.mark.parametrize(("turn", "of", "to"), [(torch_aclnn.convert, *PACKAGES), (torch_aclnn.revert, *PACKAGES[::-1])])
def test_keeps_hooks_and_their_handles(turn, of, to):
    model, seen = of.AvgPool2d(2), []
    handle = model.register_forward_hook(lambda module, args, output: seen.append(type(module)))
    turn(model)(torch.ones(1, 1, 2, 2))
    handle.remove()
    model(torch.ones(1, 1, 2, 2))
    assert seen == [to.AvgPool2d]


def test_pickles_name_the_public_classes():
    model = torch_aclnn.convert(make_model())
    text = pickle.dumps(model, protocol=0).decode("latin1")
    assert "ctorch_aclnn.nn\nAvgPool2d\n" in text and "torch_aclnn.nn." not in text
    assert repr(pickle.loads(pickle.dumps(model))) == repr(model)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_turns_the_modules_of_each_operator(operator):
    for name in operator.modules:
        theirs = getattr(torch.nn, name)(2)
        assert type(torch_aclnn.convert(theirs, batch_norm=True)) is getattr(torch_aclnn.nn, name)


class Own(torch.nn.AvgPool2d):
    pass


def test_leaves_subclasses_alone_and_may_be_repeated():
    model = torch_aclnn.convert(torch_aclnn.convert(torch.nn.Sequential(Own(2), torch.nn.AvgPool2d(2))))
    assert [type(m) for m in model] == [Own, torch_aclnn.nn.AvgPool2d]


@pytest.mark.parametrize("asked", [{}, {"batch_norm": False}, {"batch_norm": True}])
def test_batch_norm_is_converted_and_patched_where_it_is_asked_for(asked):
    expected = asked.get("batch_norm", False)
    parts = [torch.nn.BatchNorm1d(2), torch.nn.BatchNorm2d(2), torch.nn.BatchNorm3d(2), torch.nn.AvgPool2d(2)]
    converted = [type(m).__module__ == "torch_aclnn.nn" for m in torch_aclnn.convert(torch.nn.Sequential(*parts), **asked)]
    assert converted == [expected, expected, expected, True]
    with torch_aclnn.patch(**asked) as patch:
        assert ("torch.nn.functional.batch_norm" in patch.changed) == expected


@host_engine_only
@skipped_if_torchs("batch_norm_elemt")
def test_a_converted_batch_norm_takes_as_many_launches_as_its_documentation_says():
    launches = []
    for convert in (lambda m: m, functools.partial(torch_aclnn.convert, batch_norm=True)):
        layer, x = convert(torch.nn.BatchNorm2d(4).npu()), torch.randn(2, 4, 5, 5, device="npu", requires_grad=True)
        grad_output = torch.ones_like(x)
        torch.npu.synchronize()
        torch_aclnn.host.reset()
        torch.autograd.grad(layer(x), (x, *layer.parameters()), grad_output)
        torch.npu.synchronize()
        launches.append(sum(torch_aclnn.host.statistics().calls.values()))
    assert f"takes {launches[0]} for forward and backward" in torch_aclnn.convert.__doc__
    assert f"and {launches[1]} once converted" in torch_aclnn.convert.__doc__


@pytest.mark.parametrize(
    ("parts", "batch_norm", "level", "said"),
    [
        ([], True, "INFO", "turned 1 AdaptiveAvgPool2d, 1 AvgPool2d, 1 BatchNorm2d, 1 ReplicationPad2d"),
        ([], False, "INFO", "turned 1 AdaptiveAvgPool2d, 1 AvgPool2d, 1 ReplicationPad2d; left batch norm alone 1 BatchNorm2d"),
        ([torch.nn.Linear(1, 1)], True, "WARNING", "turned nothing"),
        ([Own(2), Own(2)], True, "WARNING", "turned nothing; left subclasses alone 2 Own"),
        ([torch_aclnn.nn.AvgPool2d(2)], True, "INFO", "turned nothing"),
    ],
)
def test_what_was_turned_is_logged_in_one_line(caplog, parts, batch_norm, level, said):
    with caplog.at_level("INFO", logger="torch_aclnn"):
        torch_aclnn.convert(torch.nn.Sequential(*parts) if parts else make_model(), batch_norm=batch_norm)
    assert [(record.levelname, record.message) for record in caplog.records] == [(level, f"convert: {said}")]


@pytest.mark.parametrize("turn", [torch_aclnn.convert, torch_aclnn.revert])
def test_only_a_module_is_turned(turn):
    with pytest.raises(TypeError, match=rf"{turn.__name__}: module: expected a torch\.nn\.Module, got list"):
        turn([torch.nn.AvgPool2d(2)])
    with pytest.raises(TypeError, match=rf"{turn.__name__}: module: expected a torch\.nn\.Module, got the class AvgPool2d"):
        turn(torch.nn.AvgPool2d)


@pytest.mark.parametrize("fuse", [torch.ao.quantization.fuse_modules, torch.ao.quantization.fuse_modules_qat])
def test_a_converted_batch_norm_is_fused_into_its_convolution(fuse):
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 2, 1), torch.nn.BatchNorm2d(2), torch.nn.ReLU())
    model.train(fuse is torch.ao.quantization.fuse_modules_qat)
    expected = fuse(copy.deepcopy(model), [["0", "1", "2"]])
    got = fuse(torch_aclnn.convert(model, batch_norm=True), [["0", "1", "2"]])
    assert [type(part) for part in got.modules()] == [type(part) for part in expected.modules()]
    x = torch.randn(2, 2, 3, 3)
    torch.testing.assert_close(got(x), expected(x))


def test_scripting_a_converted_model_says_what_to_do():
    with pytest.raises(NotImplementedError, match=r"torch_aclnn\.nn\.ReplicationPad2d has no script; torch_aclnn\.revert\(model\)"):
        torch.jit.script(torch_aclnn.convert(make_model()))


@pytest.mark.parametrize("options", [{}, {"affine": True}, {"affine": True, "track_running_stats": True}], ids=str)
@pytest.mark.parametrize(("dims", "shape"), [(1, (3, 4, 5)), (2, (3, 4, 5, 2)), (3, (4, 5, 2, 3))])
def test_instance_norm_has_torchs_values_and_right_second_derivatives(dims, shape, options, device):
    """Against torch's own on the CPU in float64; the last shape is of one sample without a batch."""
    theirs = getattr(torch.nn, f"InstanceNorm{dims}d")(4, **options).double()
    ours = torch_aclnn.convert(copy.deepcopy(theirs).float().to(device), batch_norm=True)
    x = torch.randn(shape, dtype=torch.float64)
    results = []
    for norm, leaf in ((theirs, x.clone().requires_grad_()), (ours, x.float().to(device).requires_grad_())):
        result = norm(leaf)
        (first,) = torch.autograd.grad(result.pow(3).sum(), leaf, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), leaf)
        results.append([t.detach().cpu().double() for t in (result, first, second, *norm.eval()(leaf).detach()[:1], *norm.buffers())])
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-3)
