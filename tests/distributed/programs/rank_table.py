"""A job whose communicators are made of a rank table: prints, as a JSON object, sums over all ranks and over some, and a message."""

import json
import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.npu.set_device(RANK)
dist.init_process_group("hccl", init_method=sys.argv[1], rank=RANK, world_size=RANKS, timeout=timedelta(seconds=60))
found: dict[str, float] = {}
try:
    total = torch.full((3,), float(RANK + 1), device="npu")
    dist.all_reduce(total)
    found["all"] = total[0].item()
    ends = dist.new_group([0, RANKS - 1])
    if RANK in (0, RANKS - 1):
        part = torch.full((2,), float(RANK + 1), device="npu")
        dist.all_reduce(part, group=ends)
        found["ends"] = part[0].item()
    message = torch.full((2,), float(RANK), device="npu")
    if RANK < 2:
        dist.send(message, 1) if RANK == 0 else dist.recv(message, 0)
        found["message"] = message[0].item()
    dist.barrier()
    dist.destroy_process_group()
except RuntimeError as error:
    print(json.dumps({"error": str(error)}))
    os._exit(0)
print(json.dumps(found))
