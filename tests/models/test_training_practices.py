"""What training scripts do around a step: accumulation, clipping, frozen layers, evaluation, copies and averages of a model."""

import copy

import torch_aclnn
import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from support.marks import beyond_the_documents, marked
from support.training import RECIPES, Training, batch, make_model


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [p.grad.cpu() for p in model.parameters()]


def backward(name: str, model: nn.Module, parts: int = 1) -> None:
    """Add the gradient of the first batch, in `parts` parts."""
    device = next(model.parameters()).device
    for x, y in zip(*(t.to(device).chunk(parts) for t in batch(name)), strict=True):
        (RECIPES[name].loss(model(x), y) / parts).backward()


@pytest.mark.parametrize("name", ["lenet", "transformer"])  # networks without batch norm, which would see the parts
def test_accumulated_gradients_are_those_of_the_whole_batch(name):
    whole, parts = make_model(name).npu(), make_model(name).npu()
    backward(name, whole)
    backward(name, parts, parts=4)
    for a, b in zip(gradients(parts), gradients(whole), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("norm", [1.0, 2.0, float("inf")])
def test_clipping_the_norm(norm, foreach):
    clipped, norms = {}, {}
    for device in ("cpu", "npu"):
        model = make_model("lenet").to(device)
        backward("lenet", model)
        limit = 0.25 * nn.utils.get_total_norm([p.grad for p in model.parameters()], norm).item()
        norms[device] = nn.utils.clip_grad_norm_(model.parameters(), limit, norm, foreach=foreach).item()
        # torch divides by norm + 1e-6
        assert nn.utils.get_total_norm([p.grad for p in model.parameters()], norm).item() == pytest.approx(limit, rel=1e-4)
        clipped[device] = gradients(model)
    assert norms["npu"] == pytest.approx(norms["cpu"], rel=1e-5)
    torch.testing.assert_close(clipped["npu"], clipped["cpu"], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("foreach", [True, False])
def test_clipping_values(foreach):
    model = make_model("lenet").npu()
    backward("lenet", model)
    before = gradients(model)
    nn.utils.clip_grad_value_(model.parameters(), 1e-3, foreach=foreach)
    for a, b in zip(gradients(model), before, strict=True):
        assert torch.equal(a, b.clamp(-1e-3, 1e-3))
    assert any((b.abs() > 1e-3).any() for b in before)


def test_frozen_layers_stay_and_groups_learn_at_their_own_rates():
    model, (x, y) = make_model("resnet").npu(), (t.npu() for t in batch("resnet"))
    model.stem.requires_grad_(False)
    groups = [{"params": model.stages.parameters(), "lr": 0.0}, {"params": model.head.parameters(), "weight_decay": 0.1}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    before = {key: p.detach().clone() for key, p in model.named_parameters()}
    RECIPES["resnet"].loss(model(x), y).backward()
    optimizer.step()
    moved = {key for key, p in model.named_parameters() if not torch.equal(p, before[key])}
    assert moved == {"head.2.weight", "head.2.bias"}
    assert {key for key, p in model.named_parameters() if p.grad is None} == {"stem.0.weight", "stem.1.weight", "stem.1.bias"}


@pytest.mark.parametrize("name", marked(RECIPES, "segnet", beyond_the_documents))
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_inference_after_training_is_that_of_the_cpu(name, mode):
    model, (x, _) = Training(name, "npu").model, batch(name)
    state = copy.deepcopy(model.eval().state_dict())
    with mode():
        output = model(x.npu())
    expected = copy.deepcopy(model).cpu()(x)
    assert not output.requires_grad and output.is_inference() == (mode is torch.inference_mode)
    torch.testing.assert_close(output.cpu(), expected, rtol=1e-4, atol=1e-5)
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())  # the state is as before


def test_inference_of_a_converted_model_is_the_same():
    training = Training("unet", "npu")
    training.run(2)
    model, x = training.model.eval(), training.batches[0][0]
    with torch.no_grad():
        expected = model(x)
        converted = torch_aclnn.convert(copy.deepcopy(model))(x)
    assert torch.equal(converted, expected)


def test_a_deep_copy_has_a_life_of_its_own():
    training = Training("resnet", "npu")
    training.run(1)
    twin = copy.deepcopy(training.model)
    before = {key: value.clone() for key, value in twin.state_dict().items()}
    training.run(1)
    for key, value in twin.state_dict().items():
        assert value.device.type == "npu" and torch.equal(value, before[key]), key
    assert not torch.equal(twin.head[2].weight, training.model.head[2].weight)


def test_an_exponential_moving_average_is_that_of_the_cpu():
    averages = {}
    for device in ("cpu", "npu"):
        training = Training("lenet", device)
        average = AveragedModel(training.model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
        for _ in range(4):
            training.run(1)
            average.update_parameters(training.model)
        averages[device] = {key: value.cpu() for key, value in average.state_dict().items()}
    torch.testing.assert_close(averages["npu"], averages["cpu"], rtol=1e-4, atol=1e-6)
    assert averages["npu"]["n_averaged"] == 4


def test_selective_checkpointing_keeps_some_results_and_gives_the_same_gradients():
    """The products are kept, as a policy says that names an operator; the rest is computed again."""
    kept = [torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.bmm.default]
    model, gradients_of = make_model("transformer").npu(), {}
    for name, context in (("whole", None), ("selective", lambda: create_selective_checkpoint_contexts(kept))):
        model.zero_grad()
        x, y = (t.npu() for t in batch("transformer"))
        output = model(x) if context is None else checkpoint(model, x, use_reentrant=False, context_fn=context)
        RECIPES["transformer"].loss(output, y).backward()
        gradients_of[name] = gradients(model)
    torch.testing.assert_close(gradients_of["selective"], gradients_of["whole"], rtol=0, atol=0)
