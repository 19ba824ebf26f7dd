"""Calling a function in several processes that make up a process group of torch.distributed."""

import dataclasses
import pickle
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.ranks import Rank, run_ranks


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What the function returned in a process, or how it failed: a traceback, or what the process wrote before it ended."""

    value: Any = None
    failure: str | None = None


def device_of(backend: str) -> str:
    """Return the type of the devices that the backend communicates from."""
    return "npu" if backend == "hccl" else "cpu"


def call_in_ranks(
    function: str, size: int, *arguments: Any, backend: str = "gloo", seconds: float = 300, **environment: str
) -> list[Outcome]:
    """Call a function, given as "module:name", in `size` processes after init_process_group; each returns something that can be pickled.

    A process that has not ended after the time limit is killed, which is its outcome.
    """
    with tempfile.TemporaryDirectory() as path:
        directory = Path(path)
        (directory / "arguments").write_bytes(pickle.dumps(arguments))
        ranks = run_ranks("call", size, directory, function, backend, str(seconds), limit=seconds, **environment)
        return [_outcome(rank, directory / f"result{number}") for number, rank in enumerate(ranks)]


def values_of(outcomes: Sequence[Outcome]) -> list[Any]:
    """Return what the function returned in each process; fail with the failures of all."""
    failures = [f"rank {rank}: {outcome.failure}" for rank, outcome in enumerate(outcomes) if outcome.failure is not None]
    assert not failures, "\n".join(failures)
    return [outcome.value for outcome in outcomes]


def _outcome(rank: Rank, result: Path) -> Outcome:
    if result.exists():
        return pickle.loads(result.read_bytes())
    end = "did not end in time" if rank.returncode is None else f"ended with status {rank.returncode}"
    return Outcome(failure=f"{end}\n{rank.stderr[-4000:]}")
