"""How groups and processes end, and what they leave."""

import gc
import os
import signal
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from fault_reports import RANK, leave, meet, ones, report, show
from sockets import listening_addresses


def sockets_and_threads() -> list[int]:
    """Count those of this process."""
    links = (os.path.join("/proc/self/fd", entry) for entry in os.listdir("/proc/self/fd"))
    return [sum(os.readlink(link).startswith("socket:") for link in links if os.path.islink(link)), len(os.listdir("/proc/self/task"))]


def settled_sockets_and_threads() -> list[int]:
    """Count them once their numbers have stayed the same for half a second: a thread that was joined is listed for a moment more."""
    counts, since = sockets_and_threads(), time.monotonic()
    while time.monotonic() < since + 0.5:
        time.sleep(0.01)
        if (now := sockets_and_threads()) != counts:
            counts, since = now, time.monotonic()
    return counts


def leftovers() -> None:
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
        counts.append(settled_sockets_and_threads())
    show(during=during, addresses=addresses, after=counts)
    dist.destroy_process_group()


def two_groups() -> None:
    """Two communicators of the same devices, used at the same time and in another order on each rank."""
    groups = [dist.new_group(backend="hccl"), dist.new_group(backend="hccl")]
    for group in groups:
        meet(group)
    tensors = [ones(), 10 * ones()]
    for i in _order():
        dist.all_reduce(tensors[i], group=groups[i], async_op=True)
    torch.npu.synchronize()
    show(sums=[tensor.tolist() for tensor in tensors])
    dist.destroy_process_group()


def made_in_another_order() -> None:
    """Two communicators, which are made when they are used for the first time: each rank waits for the other in another one."""
    groups = [dist.new_group(backend="hccl", timeout=timedelta(seconds=4)) for _ in range(2)]
    report(lambda: dist.all_reduce(ones(), group=groups[_order()[0]]))
    leave()


def _order() -> tuple[int, int]:
    return (0, 1) if RANK == 0 else (1, 0)


def pending_at_exit() -> None:
    """Rank 0 ends while its collective waits for rank 1, and destroys nothing."""
    meet()
    if RANK == 1:
        time.sleep(1000)
    dist.all_reduce(ones(), async_op=True)


def interrupted() -> None:
    """SIGINT comes while rank 0 waits for its collective."""
    meet()
    if RANK == 1:
        time.sleep(1000)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    dist.all_reduce(ones())
    torch.npu.synchronize()


def aborted() -> None:
    """Rank 0 aborts its group while a collective waits for rank 1."""
    meet()
    if RANK == 1:
        time.sleep(1000)
    dist.all_reduce(ones(), async_op=True)
    report(dist.distributed_c10d._abort_process_group)
    leave()
