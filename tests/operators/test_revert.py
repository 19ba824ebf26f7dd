"""revert: a model's modules become torch's, and nothing else of it changes."""

import copy
import pickle

import torch_aclnn
import pytest
import torch
from torch_aclnn._operators import OPERATORS

from support.marks import skip_with
from support.subprocesses import output_of
from support.turned import make_model, saved_and_loaded


def classes(model: torch.nn.Module) -> list[type]:
    return [type(m) for m in model.modules()]


def there_and_back(model: torch.nn.Module) -> torch.nn.Module:
    assert any(c.__module__ == "torch_aclnn.nn" for c in classes(torch_aclnn.convert(model, batch_norm=True)))
    return torch_aclnn.revert(model)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_turns_the_modules_of_each_operator_converted_or_made_as_ours(operator):
    for name in operator.modules:
        theirs = getattr(torch.nn, name)
        assert type(there_and_back(theirs(2))) is type(torch_aclnn.revert(getattr(torch_aclnn.nn, name)(2))) is theirs


def test_batch_norm_is_turned_back_whichever_engine_answers(monkeypatch):
    monkeypatch.setattr(torch_aclnn.host, "is_active", lambda: False)
    assert type(torch_aclnn.revert(torch_aclnn.nn.BatchNorm2d(2))) is torch.nn.BatchNorm2d


def test_a_model_that_went_there_and_back_is_what_it_was(device):
    model = make_model().to(device).eval()
    before, state, optimizer = classes(model), model.state_dict(), torch.optim.SGD(model.parameters())
    addresses = {name: value.data_ptr() for name, value in state.items()}
    assert there_and_back(model) is model and classes(model) == before
    assert {name: value.data_ptr() for name, value in model.state_dict().items()} == addresses
    assert not any(m.training for m in model.modules()) and {p.device.type for p in model.parameters()} == {device}
    assert {id(p) for p in optimizer.param_groups[0]["params"]} == {id(p) for p in model.parameters()}


def test_gives_torchs_results_and_gradients(device):
    theirs = make_model().to(device)
    model = there_and_back(copy.deepcopy(theirs))
    x = torch.randn(2, 3, 6, 6, device=device)
    results = []
    for m in (theirs, model):
        m(x).square().sum().backward()
        results.append([t.detach().cpu() for t in (*m.state_dict().values(), *(p.grad for p in m.parameters()))])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_compiled_code_follows(device):
    skip_with("2.9", "2.11", "torch.compile does not notice that the class of a module has changed")
    model, x = torch.nn.Sequential(torch_aclnn.nn.AvgPool2d(2)), torch.randn(1, 2, 4, 4, device=device, requires_grad=True)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    ours = type(compiled(x).grad_fn).__name__
    torch_aclnn.revert(model)
    theirs = type(compiled(x).grad_fn).__name__
    torch.compiler.reset()
    assert ours != theirs == "AvgPool2DBackward0"


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), saved_and_loaded])
def test_copies_are_of_the_classes_that_they_were_made_of(duplicate):
    model = torch_aclnn.convert(make_model(), batch_norm=True)
    converted = duplicate(model)
    assert classes(converted) == classes(model)
    reverted = duplicate(torch_aclnn.revert(model))
    assert classes(reverted) == classes(model) == classes(make_model()) != classes(converted)
    assert classes(torch_aclnn.revert(converted)) == classes(model)
    torch.testing.assert_close(reverted.state_dict(), converted.state_dict())


def test_what_is_saved_needs_this_package_no_longer(tmp_path):
    path = tmp_path / "model.pt"
    torch.save(there_and_back(make_model()), path)
    load = f"import sys, torch; torch.load({str(path)!r}, weights_only=False); print('torch_aclnn' in sys.modules)"
    assert output_of(load, TORCH_DEVICE_BACKEND_AUTOLOAD="0", TORCH_ACLNN_IMPORT_HOOK="0") == "False"


def test_can_be_scripted_again():
    model = there_and_back(make_model())
    x = torch.randn(2, 3, 6, 6)
    torch.testing.assert_close(torch.jit.script(model.eval())(x), model(x))


def test_leaves_subclasses_alone_and_may_be_repeated():
    class Own(torch_aclnn.nn.AvgPool2d):
        pass

    model = torch_aclnn.revert(torch_aclnn.revert(torch.nn.Sequential(Own(2), torch_aclnn.nn.AvgPool2d(2))))
    assert [type(m) for m in model] == [Own, torch.nn.AvgPool2d]
