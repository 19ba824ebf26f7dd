"""Ends before autograd's thread for npu has dropped what it used: that runs only when no other thread does, and all share a processor."""

import os
from pathlib import Path

import torch_aclnn  # noqa: F401
import torch


def gradient() -> torch.Tensor:
    return torch.autograd.grad((x * 2).sum(), x)[0]


x = torch.randn(300, device="npu", requires_grad=True)
gradient()
torch.npu.synchronize()
processor = min(os.sched_getaffinity(0))
for thread in Path("/proc/self/task").iterdir():
    os.sched_setaffinity(int(thread.name), {processor})
    if (thread / "comm").read_text().startswith("pt_autograd"):
        os.sched_setscheduler(int(thread.name), os.SCHED_IDLE, os.sched_param(0))
kept = gradient()
