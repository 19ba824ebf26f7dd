"""Running a function in several processes that make up a process group of torch.distributed."""

import ctypes
import dataclasses
import datetime
import faulthandler
import os
import pickle
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.subprocesses import NOT_INHERITED

START = f"import sys; sys.path.append({str(Path(__file__).parents[1])!r}); from support.ranks import serve; serve(*sys.argv[1:])"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What the function returned in a process, or how it failed: a traceback, or what the process wrote before it ended."""

    value: Any = None
    failure: str | None = None


def device_of(backend: str) -> str:
    return "npu" if backend == "hccl" else "cpu"


def missing(backend: str) -> str | None:
    """Return why a backend cannot be used here, or None."""
    has_collectives = backend != "hccl" or hasattr(ctypes.CDLL("libhccl.so"), "HcclGetRootInfo")
    return None if has_collectives else "libhccl.so has no HcclGetRootInfo"


def run_ranks(function: str, size: int, *arguments: Any, backend: str = "gloo", seconds: float = 120) -> list[Outcome]:
    """Call a function, given as "module:name", in `size` processes after init_process_group; each returns something that can be pickled.

    A process that has not ended after the time limit is killed, which is its outcome.
    """
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "arguments").write_bytes(pickle.dumps(arguments))
        processes = [_start(function, rank, size, backend, seconds, directory) for rank in range(size)]
        deadline = time.monotonic() + seconds
        try:
            return [_outcome(process, rank, deadline, directory) for rank, process in enumerate(processes)]
        finally:
            for process in processes:
                process.kill()
                process.wait()


def values_of(outcomes: Sequence[Outcome]) -> list[Any]:
    """Return what the function returned in each process; fail with the failures of all."""
    failures = [f"rank {rank}: {outcome.failure}" for rank, outcome in enumerate(outcomes) if outcome.failure is not None]
    assert not failures, "\n".join(failures)
    return [outcome.value for outcome in outcomes]


def _start(function: str, rank: int, size: int, backend: str, seconds: float, directory: str) -> subprocess.Popen:
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    environment |= {"OMP_NUM_THREADS": "1", "TORCH_ACLNN_HOST_DEVICES": str(size)}
    with open(Path(directory) / f"output{rank}", "wb") as output:
        return subprocess.Popen(
            [sys.executable, "-c", START, function, str(rank), str(size), backend, str(seconds), directory],
            cwd=tempfile.gettempdir(),  # python -c would import a source tree from here instead of the installed package
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _outcome(process: subprocess.Popen, rank: int, deadline: float, directory: str) -> Outcome:
    end = "did not end in time"
    try:
        end = f"ended with status {process.wait(max(0, deadline - time.monotonic()))}"
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    result = Path(directory) / f"result{rank}"
    if result.exists():
        return pickle.loads(result.read_bytes())
    return Outcome(failure=f"{end}\n{(Path(directory) / f'output{rank}').read_text(errors='replace')[-4000:]}")


def serve(function: str, rank: str, size: str, backend: str, seconds: str, directory: str) -> None:
    """Be one of the processes."""
    import importlib

    faulthandler.dump_traceback_later(0.9 * float(seconds))  # into the output, which is the outcome if nothing else is

    import torch_aclnn  # noqa: F401
    import torch
    import torch.distributed as dist

    if backend == "hccl":
        torch.npu.set_device(int(rank))
    limit = datetime.timedelta(seconds=float(seconds))
    module, name = function.split(":")
    try:
        dist.init_process_group(backend, init_method=f"file://{directory}/store", rank=int(rank), world_size=int(size), timeout=limit)
        arguments = pickle.loads((Path(directory) / "arguments").read_bytes())
        outcome = Outcome(getattr(importlib.import_module(module), name)(*arguments))
        dist.destroy_process_group()
    except Exception:
        outcome = Outcome(failure=traceback.format_exc())
    part = Path(directory) / f"part{rank}"
    part.write_bytes(pickle.dumps(outcome))
    part.rename(Path(directory) / f"result{rank}")
