"""Checkpoints of model, optimizer and schedule: what goes on from one is what would have gone on, on npu and between npu and cpu."""

import pytest
import torch

from examples.models.recipes import RECIPES
from support.training import Training

DIRECTIONS = [("npu", "npu"), ("npu", "cpu"), ("cpu", "npu")]


def tensors_of(state: object) -> list[torch.Tensor]:
    """Return all tensors of a nested state, in its order."""
    if isinstance(state, torch.Tensor):
        return [state]
    parts = state.values() if isinstance(state, dict) else state if isinstance(state, list | tuple) else ()
    return [tensor for part in parts for tensor in tensors_of(part)]


def saved(training: Training, path) -> object:
    torch.save(training.state(), path)
    return path


@pytest.mark.parametrize("name", ["lenet", "resnet", "transformer"])
def test_a_resumed_training_goes_on_bit_for_bit(name, tmp_path):
    training = Training(name, "npu")
    training.run(4)
    path = saved(training, tmp_path / "checkpoint.pt")
    went_on = training.run(4)
    resumed = Training(name, "npu")
    resumed.load(torch.load(path))
    assert resumed.run(4) == went_on
    for a, b in zip(tensors_of(training.state()), tensors_of(resumed.state()), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(("saved_on", "loaded_on"), DIRECTIONS)
def test_map_location_moves_a_checkpoint(saved_on, loaded_on, tmp_path):
    training = Training("resnet", saved_on)
    training.run(2)
    state = torch.load(saved(training, tmp_path / "checkpoint.pt"), map_location=loaded_on)
    assert {t.device.type for t in tensors_of([state["model"], state["optimizer"]["state"]])} <= {loaded_on, "cpu"}  # AdamW's step count
    assert {t.device.type for t in tensors_of(state["model"])} == {loaded_on}
    for before, after in zip(tensors_of(training.state()), tensors_of(state), strict=True):
        assert torch.equal(before.cpu(), after.cpu())


@pytest.mark.parametrize(("saved_on", "loaded_on"), DIRECTIONS[1:])
def test_a_training_goes_on_on_the_other_device(saved_on, loaded_on, tmp_path):
    training = Training("resnet", saved_on)
    training.run(3)
    moved = Training("resnet", loaded_on)
    moved.load(torch.load(saved(training, tmp_path / "checkpoint.pt"), map_location=loaded_on))
    assert moved.run(3) == pytest.approx(training.run(3), rel=1e-3)


def test_without_map_location_a_checkpoint_comes_back_to_npu(tmp_path):
    path = saved(Training("lenet", "npu"), tmp_path / "checkpoint.pt")
    assert {str(t.device) for t in torch.load(path)["model"].values()} == {"npu:0"}


def test_a_training_with_dropout_resumes_with_the_state_of_the_random_numbers(tmp_path):
    def start() -> Training:
        return Training("transformer", "npu", RECIPES["transformer"].model())

    torch.manual_seed(1)
    training = start()
    training.run(2)
    torch.save({**training.state(), "random": torch.npu.get_rng_state()}, tmp_path / "checkpoint.pt")
    went_on = training.run(3)
    state = torch.load(tmp_path / "checkpoint.pt", map_location={"npu:0": "npu:0"})
    resumed = start()
    resumed.load(state)
    torch.npu.set_rng_state(state["random"])
    assert resumed.run(3) == went_on
    assert resumed.run(3) != went_on


def test_state_dicts_of_npu_and_cpu_are_equal_after_loading():
    on_npu, on_cpu = Training("resnet", "npu"), Training("resnet", "cpu")
    on_npu.run(2)
    assert on_npu.model.state_dict().keys() == on_cpu.model.state_dict().keys()
    on_cpu.model.load_state_dict(on_npu.model.state_dict())
    for key, value in on_cpu.model.state_dict().items():
        assert value.device.type == "cpu" and torch.equal(value, on_npu.model.state_dict()[key].cpu()), key
    assert on_npu.model.state_dict()["stem.1.num_batches_tracked"] == 2
