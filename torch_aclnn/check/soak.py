"""``torch-aclnn check --soak STEPS``: a network and the same converted, trained side by side from one seed."""

import copy
import math

import torch
import torch_npu
from torch import nn
from torch_aclnn.check.cost import network
from torch_aclnn.conversion import convert

_ROWS = 10


class _Training:
    """A network, its optimiser, and what a step of it leaves."""

    def __init__(self, model: nn.Module) -> None:
        self._model, self._optimizer = model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
        self.alive: list[int] = []

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> float:
        """Return the loss; the step's memory is counted as if the other network were not there."""
        torch_npu.npu.synchronize()
        torch_npu.npu.reset_peak_memory_stats()
        before = torch_npu.npu.memory_allocated()
        self._optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self._model(images), labels)
        loss.backward()
        self._optimizer.step()
        value = loss.item()
        self.alive.append(torch_npu.npu.max_memory_allocated() - before)
        return value


def soak(steps: int) -> int:
    """Train, print some of the steps, and return 1 if a loss is not finite, or if ours needs more memory in each of the last steps."""
    torch.manual_seed(0)
    plain = network().to("npu")
    trainings = _Training(plain), _Training(convert(copy.deepcopy(plain), batch_norm=True))
    print(f"{'step':>6} {'loss, torch':>12} {'converted':>12} {'apart':>9} {'bytes, torch':>13} {'converted':>13}")
    finite = True
    for step in range(1, steps + 1):
        images, labels = torch.randn(8, 3, 16, 16).to("npu"), torch.randint(10, (8,)).to("npu")
        losses = [training.step(images, labels) for training in trainings]
        finite &= all(map(math.isfinite, losses))
        if step % max(1, steps // _ROWS) == 0:
            torchs, ours = (training.alive[-1] for training in trainings)
            print(
                f"{step:>6} {losses[0]:>12.6f} {losses[1]:>12.6f} {abs(losses[0] - losses[1]):>9.1e} {torchs:>13,} {ours:>13,}", flush=True
            )
    alive = trainings[1].alive
    # What the task queue has not run yet is alive too, so single steps need more than others; where memory is lost, all of the last do.
    grows = min(alive[-_ROWS:]) > max(alive[: max(2, steps // _ROWS)])
    print(
        "failed: a loss is not finite" if not finite else "failed: the converted network needs more and more memory" if grows else "passed"
    )
    return int(not finite or grows)
