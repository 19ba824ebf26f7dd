"""Processes that measure: those whose environment differs, and the ranks of a process group."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any

import torch_aclnn  # noqa: F401
import torch
import torch.distributed as dist

TIMEOUT = timedelta(minutes=5)
# How long the ranks may take to leave their process group.
ENDING_SECONDS = 30


@contextmanager
def inherited(**environment: str) -> Iterator[None]:
    """Within the context, new processes have these variables, and ignore Ctrl-C, which only this process handles."""
    before = {name: os.environ.get(name) for name in environment}
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def connected_process(function: Callable[..., None], *arguments: Any, **environment: str) -> Iterator[connection.Connection]:
    """Run `function(connection, *arguments)` in a new process, and yield the other end of the connection."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=function, args=(theirs, *arguments), daemon=True)
    with inherited(**environment):
        process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.kill()  # a stopped process does not react to terminate()
        process.join()


def call_in_ranks(function: Callable[..., Any], count: int, *arguments: Any, **environment: str) -> Any:
    """Call the function in that many new processes, which form a process group over hccl, and return what rank 0 returned."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as directory:
        meeting = f"file://{Path(directory) / 'meeting'}"
        processes = [
            context.Process(target=_run_rank, args=(sender, meeting, rank, count, function, arguments), daemon=True)
            for rank in range(count)
        ]
        settings = {"TORCH_ACLNN_HOST_DEVICES": str(count), "OMP_NUM_THREADS": "1", "HCCL_EXEC_TIMEOUT": "240", **environment}
        with inherited(**settings):
            for process in processes:
                process.start()
        sender.close()
        try:
            connection.wait([receiver, *(process.sentinel for process in processes)])
            if not receiver.poll():
                raise EOFError
            result = receiver.recv()
            for process in processes:
                process.join(ENDING_SECONDS)
            return result
        except EOFError:
            raise RuntimeError(f"a rank of {count} ended early; its error is above") from None
        finally:
            for process in processes:
                process.terminate()
                process.join()


def _run_rank(
    sender: connection.Connection, meeting: str, rank: int, count: int, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    torch.set_num_threads(1)
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=meeting, rank=rank, world_size=count, timeout=TIMEOUT)
    result = function(*arguments)
    if rank == 0:
        sender.send(result)
    dist.barrier()  # no rank ends before the result has been sent
    dist.destroy_process_group()
