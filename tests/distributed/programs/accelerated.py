"""Training with Hugging Face's accelerate, beside that of one process with the joint batches. Prints what it ran on and the difference."""

import json

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Linear(3, 2)


accelerator = Accelerator()
rows = torch.randn(16, 3, generator=torch.Generator().manual_seed(1))
model, single = network(), network().to(accelerator.device)
optimizer, theirs = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, single))
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(TensorDataset(rows), batch_size=2))
for (own,), joint in zip(loader, rows.split(2 * accelerator.num_processes), strict=True):
    optimizer.zero_grad()
    accelerator.backward(model(own).square().mean())
    optimizer.step()
    theirs.zero_grad()
    single(joint.to(accelerator.device)).square().mean().backward()
    theirs.step()
weights = accelerator.gather(accelerator.unwrap_model(model).weight.detach()[None])
if accelerator.is_main_process:
    kind, backend = accelerator.distributed_type.value, dist.get_backend()
    difference = (weights - single.weight.detach()).abs().max().item()
    print(json.dumps({"kind": kind, "backend": backend, "weights": len(weights), "difference": difference}))
accelerator.end_training()
