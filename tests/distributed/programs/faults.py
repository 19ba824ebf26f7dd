"""What goes wrong between ranks, by name: each prints the error that it got as a JSON object, with the seconds that it took."""

import json
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FAULT = sys.argv[2]
torch.npu.set_device(RANK)
dist.init_process_group(
    "hccl", init_method=sys.argv[1], rank=RANK, world_size=RANKS, timeout=timedelta(seconds=float(sys.argv[3]) if len(sys.argv) > 3 else 60)
)
begin = time.monotonic()


def report(call: object) -> None:
    """Print what the call, and the synchronisation after it, raise."""
    try:
        call()  # type: ignore[operator]
        torch.npu.synchronize()
    except Exception as error:
        print(json.dumps({"error": str(error), "seconds": time.monotonic() - begin}), flush=True)
    else:
        print(json.dumps({"error": "", "seconds": time.monotonic() - begin}), flush=True)


def ones(count: int = 4, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(count, dtype=dtype, device="npu")


MISMATCHES = {
    "kind": (lambda: dist.all_reduce(ones()), lambda: dist.broadcast(ones(), 0)),
    "dtype": (lambda: dist.all_reduce(ones()), lambda: dist.all_reduce(ones(dtype=torch.float16))),
    "count": (lambda: dist.all_reduce(ones(4)), lambda: dist.all_reduce(ones(5))),
    "root": (lambda: dist.broadcast(ones(), 0), lambda: dist.broadcast(ones(), 1)),
    "op": (lambda: dist.all_reduce(ones()), lambda: dist.all_reduce(ones(), dist.ReduceOp.MAX)),
    "split": (
        lambda: dist.all_to_all_single(ones(RANKS), ones(RANKS), [1] * RANKS, [1] * RANKS),
        lambda: dist.all_to_all_single(ones(2 * RANKS), ones(RANKS), [2] * RANKS, [1] * RANKS),
    ),
    "message": (lambda: dist.send(ones(4), 1), lambda: dist.recv(ones(5), 0)),
}

dist.all_reduce(ones())
torch.npu.synchronize()
begin = time.monotonic()
if FAULT == "mismatches":
    for one, other in MISMATCHES.values():
        report(one if RANK == 0 else other)
    tensor = ones()
    dist.all_reduce(tensor)
    print(json.dumps({"after": tensor.tolist()}), flush=True)
    dist.destroy_process_group()
elif FAULT == "killed":
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    report(lambda: dist.all_reduce(ones()))
    report(lambda: dist.all_reduce(ones()))
    os._exit(3)
elif FAULT == "absent":
    if RANK == 1:
        time.sleep(1000)
    report(lambda: dist.all_reduce(ones()))
    os._exit(3)
elif FAULT == "destroyed":
    if RANK == 1:
        dist.destroy_process_group()
        time.sleep(1000)
    report(lambda: dist.all_reduce(ones()))
    os._exit(3)
