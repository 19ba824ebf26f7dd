"""Ranks that end, or never come."""

import os
import signal
import time

import torch
import torch.distributed as dist
from fault_reports import RANK, leave, meet, ones, report


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def never() -> None:
    if RANK == 1:
        time.sleep(1000)
    report(lambda: dist.all_reduce(ones()))
    leave()


def killed() -> None:
    meet()
    if RANK == 1:
        die()
    report(lambda: dist.all_reduce(ones()))
    report(lambda: dist.all_reduce(ones()))
    leave()


def killed_in_the_middle() -> None:
    """Rank 1 dies while megabytes are on their way; the others end as soon as they know."""
    meet()
    dist.all_reduce(ones(1 << 24), async_op=True)
    if RANK == 1:
        time.sleep(0.02)
        die()
    report(torch.npu.synchronize)
    leave()


def unattended() -> None:
    """Nobody synchronises, so that torch_npu's watchdog is the first to hear of it."""
    meet()
    if RANK == 1:
        die()
    dist.all_reduce(ones(), async_op=True)
    time.sleep(1000)


def absent() -> None:
    meet()
    if RANK == 1:
        time.sleep(1000)
    report(lambda: dist.all_reduce(ones()))
    leave()


def destroyed() -> None:
    meet()
    if RANK == 1:
        dist.destroy_process_group()
        time.sleep(1000)
    report(lambda: dist.all_reduce(ones()))
    leave()
