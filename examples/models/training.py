"""The loop that all examples share."""

from collections.abc import Callable

import torch
from torch import Tensor, nn, optim

Scheduler = optim.lr_scheduler.LRScheduler


def train_epoch(
    model: nn.Module,
    loss_of: Callable[[Tensor, Tensor], Tensor],
    optimizer: optim.Optimizer,
    inputs: Tensor,
    targets: Tensor,
    batch_size: int,
    scheduler: Scheduler | None = None,
) -> float:
    """Go once over the data and return the mean loss."""
    model.train()
    total = torch.zeros((), device=inputs.device)
    for x, y in zip(inputs.split(batch_size), targets.split(batch_size), strict=True):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        total += loss.detach() * len(x)
    return (total / len(inputs)).item()
