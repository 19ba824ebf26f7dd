"""Runs the checks of the collectives over hccl on npu, beside gloo on cpu, and prints for each what differed, as JSON."""

import json
import sys
import traceback
from datetime import timedelta

import moving_checks
import pattern_checks
import reducing_checks
import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from check_values import RANK, RANKS, Check

CHECKS = {**reducing_checks.CHECKS, **moving_checks.CHECKS, **pattern_checks.CHECKS}
torch.npu.set_device(RANK)
dist.init_process_group("hccl", init_method=sys.argv[1], rank=RANK, world_size=RANKS, timeout=timedelta(seconds=60))
GLOO = dist.new_group(backend="gloo")


def difference(check: Check) -> str:
    """Return what differs, or nothing."""
    try:
        got = [tensor.cpu() for tensor in check("npu", None)]
        expected = check("cpu", GLOO)
    except Exception:
        return traceback.format_exc()
    for one, other in zip(got, expected, strict=True):
        if one.dtype != other.dtype or one.view(-1).tolist() != other.view(-1).tolist():
            return f"rank {RANK}: {one} instead of {other}"
    return ""


selected = {name: check for name, check in CHECKS.items() if len(sys.argv) <= 2 or name.startswith(sys.argv[2])}
if RANK == 0:
    print(json.dumps(list(selected)), flush=True)
for name, check in selected.items():
    print(json.dumps([name, difference(check)]), flush=True)
dist.barrier()
dist.destroy_process_group()
print(json.dumps(["end", ""]), flush=True)
