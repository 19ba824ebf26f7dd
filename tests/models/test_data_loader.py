"""DataLoader beside npu: workers that are forked or spawned, pinned memory, and copies that do not wait."""

import multiprocessing

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from support.data_loading import Squares
from support.training import RECIPES, Training, batch


def loaded(name: str, **options) -> list[list[torch.Tensor]]:
    return list(DataLoader(TensorDataset(*batch(name)), batch_size=4, **options))


def test_forked_workers_bring_the_batches_in_order_while_npu_is_in_use():
    Training("lenet", "npu").run(1)
    in_process, by_workers = loaded("lenet"), loaded("lenet", num_workers=2, multiprocessing_context="fork")
    assert len(by_workers) == 4
    for a, b in zip(by_workers, in_process, strict=True):
        assert all(torch.equal(s, t) for s, t in zip(a, b, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_spawned_worker_computes_on_either_device(device):
    loader = DataLoader(Squares(device), batch_size=4, num_workers=1, multiprocessing_context="spawn")
    assert torch.cat([squares for _, squares in loader]).tolist() == [float(i * i) for i in range(8)]


def test_a_forked_worker_that_uses_npu_is_told_to_be_spawned():
    torch.ones(1, device="npu")  # npu is in use before the fork
    with multiprocessing.get_context("fork").Pool(1) as pool, pytest.raises(RuntimeError, match=r"use the 'spawn' start method"):
        pool.apply(Squares("npu").__getitem__, (1,))


@pytest.mark.parametrize("workers", [0, 2])
def test_pin_memory_pins_and_copies_without_waiting(workers):
    for pinned, plain in zip(loaded("lenet", pin_memory=True, num_workers=workers), loaded("lenet"), strict=True):
        for a, b in zip(pinned, plain, strict=True):
            assert a.is_pinned() and not b.is_pinned()
            assert torch.equal(a.to("npu", non_blocking=True).cpu(), b)


def test_training_from_a_loader_is_training_from_the_tensors():
    recipe, training = RECIPES["lenet"], Training("lenet", "npu")
    expected = Training("lenet", "npu").run(4)
    losses = []
    samples = TensorDataset(*batch("lenet", 4 * recipe.batch_size))
    for x, y in DataLoader(samples, recipe.batch_size, num_workers=2, pin_memory=True):
        training.optimizer.zero_grad()
        loss = recipe.loss(training.model(x.npu(non_blocking=True)), y.npu(non_blocking=True))
        loss.backward()
        training.optimizer.step()
        losses.append(loss.item())
    assert losses == expected
