"""Processes that are forked while three threads use npu: `forks.py <what the child does> <how many>`. Prints how the children ended."""

import faulthandler
import os
import signal
import sys
import threading
import time
from collections import Counter

import torch_aclnn  # noqa: F401
import torch

LIMIT = 60  # seconds for a child
# A process that does not end tells where it waits. The watchdog thread of dump_traceback_later would be missing in a child.
faulthandler.register(signal.SIGALRM, chain=True)
signal.alarm(4 * LIMIT)


def compute_on_cpu() -> None:
    found = torch.ops.torch_aclnn.avg_pool2d_backward(torch.ones(8, 16, 64, 64), (8, 16, 128, 128), (2, 2))
    assert found.unique().tolist() == [0.25]


CHILDREN = {"computes": compute_on_cpu, "exits": lambda: None}

x = torch.randn(64, 64).npu()
stop = threading.Event()
# libc's exit() waits for ever in a child that was forked while a thread added an exit handler, as each does that uses something first.
all_at_work = threading.Barrier(4)


def compute_on_npu() -> None:
    (x @ x).relu().sum().item()


def keep_busy() -> None:
    torch.npu.set_device(0)
    with torch.npu.stream(torch.npu.Stream()):
        compute_on_npu()
        all_at_work.wait()
        while not stop.is_set():
            compute_on_npu()


def end_of(child: int) -> int:
    for _ in range(10 * LIMIT):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.1)
    os.kill(child, signal.SIGALRM)  # the child itself has no alarm while it waits within the fork
    return os.waitpid(child, 0)[1]


threads = [threading.Thread(target=keep_busy) for _ in range(3)]
for thread in threads:
    thread.start()
all_at_work.wait()
ends: Counter[int] = Counter()
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        CHILDREN[sys.argv[1]]()
        sys.exit(7)  # runs Python's and C's exit handlers
    ends[os.waitstatus_to_exitcode(end_of(child))] += 1
stop.set()
for thread in threads:
    thread.join()
print(dict(ends))
