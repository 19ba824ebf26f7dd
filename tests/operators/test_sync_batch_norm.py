"""SyncBatchNorm and sync_batch_norm in one process; tests/distributed has several."""

import copy
import inspect
import pickle

import torch_aclnn
import pytest
import torch
from torch import nn
from torch_aclnn.autograd import _batch_norm_steps as steps

from support.turned import saved_and_loaded

OURS, TORCHS = torch_aclnn.nn.SyncBatchNorm, nn.SyncBatchNorm
HAS_BIAS = "bias" in inspect.signature(nn.BatchNorm2d).parameters  # older versions of torch lack the argument
OPTIONS = [{}, {"affine": False}, *([{"bias": False}] if HAS_BIAS else []), {"track_running_stats": False}, {"momentum": None, "eps": 1e-3}]


def filled(layer: nn.Module) -> nn.Module:
    for value in (v for v in layer.state_dict().values() if v.is_floating_point()):
        value.copy_(torch.rand(value.shape) + 0.5)
    return layer


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_alone_it_is_batch_norm(device, options, training):
    theirs = filled(nn.BatchNorm2d(3, **options)).train(training)
    ours = OURS(3, **options).train(training)
    ours.load_state_dict(theirs.state_dict())
    x, results = torch.randn(2, 3, 4, 5), []
    for layer, where in ((theirs, "cpu"), (ours.to(device), device)):
        data = x.to(where, copy=True).requires_grad_()
        layer(data).sin().sum().backward()
        tensors = (data.grad, *(p.grad for p in layer.parameters()), *layer.state_dict().values())
        results.append([t.detach().cpu() for t in tensors])
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


def test_the_function_checks_its_arguments_under_its_name(device):
    x = torch.zeros(2, 3, 4, device=device)
    with pytest.raises(TypeError, match=r"sync_batch_norm: process_group: expected a torch\.distributed\.ProcessGroup .*, got \[0, 1\]"):
        torch_aclnn.functional.sync_batch_norm(x, None, None, training=True, process_group=[0, 1])
    with pytest.raises(ValueError, match="sync_batch_norm: input: expected more than one value per channel in training"):
        torch_aclnn.functional.sync_batch_norm(x[:1, :, 0], None, None, training=True)
    with pytest.raises(ValueError, match="sync_batch_norm: running_mean: expected a Tensor in evaluation"):
        torch_aclnn.functional.sync_batch_norm(x, None, None)


def test_another_rank_is_refused():
    with pytest.raises(ValueError, match=r"expected at least 2D input \(got 1D input\)"):
        OURS(3)(torch.ones(3))


def test_the_signatures_are_those_of_torch():
    ours, base = (inspect.signature(f) for f in (torch_aclnn.functional.sync_batch_norm, torch_aclnn.functional.batch_norm))
    assert list(ours.parameters)[:-1] == list(base.parameters) and list(ours.parameters)[-1] == "process_group"
    convert = [inspect.signature(kind.convert_sync_batchnorm).parameters for kind in (OURS, TORCHS)]
    assert list(convert[0]) == list(convert[1])


@pytest.mark.parametrize("other", [TORCHS, nn.BatchNorm2d, torch_aclnn.nn.BatchNorm2d])
def test_state_is_interchangeable(other):
    theirs, ours = filled(other(3)), OURS(3)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    other(3).load_state_dict(ours.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), saved_and_loaded])
def test_copies(duplicate):
    layer = filled(OURS(3, momentum=None))
    copied = duplicate(layer)
    assert type(copied) is OURS and repr(copied) == repr(layer) == repr(TORCHS(3, momentum=None)) and copied.process_group is None
    torch.testing.assert_close(copied.state_dict(), layer.state_dict())


def test_convert_sync_batchnorm_takes_each_batch_norm_and_keeps_its_state():
    group = object()
    parts = [nn.BatchNorm1d(2), torch_aclnn.nn.BatchNorm2d(3, affine=False), nn.BatchNorm3d(3, momentum=None), TORCHS(4), OURS(4)]
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Sequential(*map(filled, parts))).eval()
    state, parameters = copy.deepcopy(model.state_dict()), list(model.parameters())
    converted = OURS.convert_sync_batchnorm(model, group)
    assert converted is model and [type(part) for part in model[1]] == [OURS] * 5
    assert all(part.process_group is group and not part.training for part in model[1])
    assert [part.momentum for part in model[1]] == [part.momentum for part in parts]
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))
    torch.testing.assert_close(model.state_dict(), state)


def test_convert_sync_batchnorm_returns_a_new_module_for_a_batch_norm():
    layer = nn.BatchNorm2d(3, affine=False)
    converted = OURS.convert_sync_batchnorm(layer)
    assert type(converted) is OURS and converted.weight is layer.weight is None and converted.bias is None


def test_a_subclass_converts_to_itself():
    class Own(OURS):
        pass

    assert type(Own.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(2)))[0]) is Own


def test_convert_and_revert_keep_the_process_group():
    group = object()
    model = nn.Sequential(TORCHS(3, process_group=group))
    assert type(torch_aclnn.convert(model, batch_norm=True)[0]) is OURS and model[0].process_group is group
    assert type(torch_aclnn.revert(model)[0]) is TORCHS and model[0].process_group is group
    assert type(torch_aclnn.convert(model, batch_norm=False)[0]) is TORCHS


def test_on_another_device_it_is_torchs_own(monkeypatch):
    seen = []
    monkeypatch.setattr(nn.modules.batchnorm.sync_batch_norm, "apply", lambda *arguments: seen.append(arguments) or arguments[0])

    class Group:
        _device_types = (torch.device("meta"),)
        size = staticmethod(lambda: 2)

    monkeypatch.setattr("torch_aclnn.functional._groups.of_several", lambda function, process_group: process_group)
    x, group = torch.empty(2, 3, 4, device="meta"), Group()
    assert torch_aclnn.functional.sync_batch_norm(x, None, None, training=True, momentum=0.2, eps=1e-3, process_group=group) is x
    assert seen == [(x, None, None, None, None, 1e-3, 0.2, group, 2)]


@torch.no_grad()
@pytest.mark.parametrize("rows", [(4, 2), (0, 3, 5), (6, 0)], ids=str)
def test_statistics_of_parts_are_joined_to_those_of_the_whole(device, monkeypatch, rows):
    whole = 1e-3 * torch.randn(sum(rows), 3, 4) + 2
    parts = [part.to(device) for part in whole.split(rows)]
    packed = [torch.cat(steps.statistics(part, None)) for part in parts]
    monkeypatch.setattr(steps, "gather", lambda values, group: torch.stack(packed))
    exact = whole.double().transpose(0, 1).flatten(1)
    expected = exact.mean(1), exact.var(1, correction=0), torch.tensor([exact.shape[1]])
    for part in parts:  # the parts of the processes; one is empty
        for ours, theirs in zip(steps.statistics(part, object()), expected, strict=True):
            torch.testing.assert_close(ours.cpu(), theirs.float(), rtol=1e-5, atol=1e-10)
