"""What goes wrong between ranks, by name: each prints the error that it got as a JSON object, with the seconds that it took."""

import gc
import json
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from sockets import listening_addresses

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


def sockets_and_threads() -> list[int]:
    """Count those of this process."""
    links = (os.path.join("/proc/self/fd", entry) for entry in os.listdir("/proc/self/fd"))
    return [sum(os.readlink(link).startswith("socket:") for link in links if os.path.islink(link)), len(os.listdir("/proc/self/task"))]


if FAULT == "never":
    if RANK == 1:
        time.sleep(1000)
    report(lambda: dist.all_reduce(ones()))
    os._exit(3)
if FAULT == "leftovers":
    counts = []
    for _ in range(3):
        group = dist.new_group(backend="hccl")
        dist.all_reduce(ones(), group=group)
        dist.send(ones(), 1, group) if RANK == 0 else dist.recv(ones(), 0, group)
        torch.npu.synchronize()
        during, addresses = sockets_and_threads(), listening_addresses()
        dist.barrier(group)
        dist.destroy_process_group(group)
        del group
        gc.collect()
        counts.append(sockets_and_threads())
    print(json.dumps({"during": during, "addresses": addresses, "after": counts}), flush=True)
    dist.destroy_process_group()
    sys.exit()

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
elif FAULT == "killed in the middle":
    large = ones(1 << 24)
    dist.all_reduce(large, async_op=True)
    if RANK == 1:
        time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGKILL)
    report(lambda: dist.all_reduce(ones()))
    time.sleep(2)  # rank 0 keeps what the others look at to find out who is missing
    os._exit(3)
elif FAULT == "unattended":
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(ones(), async_op=True)
    time.sleep(1000)
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
