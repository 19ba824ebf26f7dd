"""What the programs of faults share: where this rank is, and how it says what went wrong."""

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def start(address: str, seconds: float | None) -> None:
    """Join the process group, whose operations have that timeout, or one that is not reached."""
    torch.npu.set_device(RANK)
    if seconds is not None:
        # The first use of a device takes seconds, on a busy machine more than a short timeout allows.
        join(f"{address}_of_first_use", 300)
        meet()
        dist.destroy_process_group()
    join(address, seconds or 60)


def join(address: str, seconds: float) -> None:
    dist.init_process_group("hccl", init_method=address, rank=RANK, world_size=RANKS, timeout=timedelta(seconds=seconds))


def ones(count: int = 4, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(count, dtype=dtype, device="npu")


def meet(group: dist.ProcessGroup | None = None) -> None:
    """Make the group's communicator, and wait until all ranks have."""
    dist.all_reduce(ones(), group=group)
    torch.npu.synchronize()


def show(**values: object) -> None:
    print(json.dumps(values), flush=True)


def report(call: Callable[[], object]) -> None:
    """Print what the call, or the synchronisation after it, raises, and the seconds that it took, as a JSON object."""
    begin, message = time.monotonic(), ""
    try:
        call()
        torch.npu.synchronize()
    except Exception as error:
        message = str(error)
    show(error=message, seconds=time.monotonic() - begin)


def until_told(call: Callable[[], object]) -> None:
    """Call, and synchronise until that raises: an error that another rank finds comes later."""
    call()
    for _ in range(100):
        torch.npu.synchronize()
        time.sleep(0.1)


def leave() -> None:
    """End at once: a group that is lost cannot be destroyed together."""
    sys.stdout.flush()
    os._exit(3)
