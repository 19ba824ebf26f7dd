"""DistributedDataParallel over hccl: its gradients beside those of one process on the joined batch. Prints the greatest difference."""

import copy
import json
import os
import sys

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch.nn.parallel import DistributedDataParallel

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.npu.set_device(RANK)
dist.init_process_group("hccl", init_method=sys.argv[1], rank=RANK, world_size=RANKS)
torch.manual_seed(0)

single = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(8 * 16, 4)
).npu()
model = DistributedDataParallel(copy.deepcopy(single), device_ids=[RANK])
optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (single, model)]
greatest = 0.0
for _ in range(3):
    inputs = torch.randn(4 * RANKS, 3, 8, 8)
    own = inputs[4 * RANK : 4 * RANK + 4].npu()
    for optimizer in optimizers:
        optimizer.zero_grad()
    single(inputs.npu()).square().mean().backward()
    with model.no_sync():
        (model(own[:2]).square().mean() / 2).backward()
    (model(own[2:]).square().mean() / 2).backward()
    for one, other in zip(single.parameters(), model.parameters(), strict=True):
        greatest = max(greatest, (one.grad - other.grad).abs().max().item())
    for optimizer in optimizers:
        optimizer.step()
print(json.dumps(greatest), flush=True)
dist.destroy_process_group()
