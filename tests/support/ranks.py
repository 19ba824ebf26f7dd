"""Programs that run as several ranks, each in a process, within a time limit."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from support.forks import Fork
from support.subprocesses import NOT_INHERITED, start

PROGRAMS = Path(__file__).parent.parent / "distributed" / "programs"


@dataclass(frozen=True)
class Rank:
    """How the process of one rank ended.

    Attributes:
        returncode: negative: the number of the signal that ended it; None: it still ran when nobody waited any more.

    """

    returncode: int | None
    stdout: str
    stderr: str
    seconds: float


def run_ranks(
    program: str, count: int, directory: Path, *arguments: str, awaited: int | None = None, limit: float = 300, **environment: str
) -> list[Rank]:
    """Run ``tests/distributed/programs/<program>.py`` as so many ranks, which meet in a file of the directory.

    ``dist.init_process_group("hccl", init_method=sys.argv[1], ...)`` is the program's own affair; more arguments follow that one.
    Nothing of it outlives the call, which waits for the first ``awaited`` ranks, or for all.
    """
    arguments = (f"file://{directory / 'meeting'}", *arguments)
    begin = time.monotonic()
    started = [_start(program, rank, count, directory, arguments, environment) for rank in range(count)]
    try:
        ended: dict[int, tuple[int, float]] = {}
        while not all(rank in ended for rank in range(awaited or count)) and time.monotonic() < begin + limit:
            for rank, process in enumerate(started):
                if rank not in ended and process.poll() is not None:
                    ended[rank] = (process.returncode, time.monotonic() - begin)
            time.sleep(0.02)
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    ends = [ended.get(rank, (None, limit)) for rank in range(count)]
    return [
        Rank(returncode, _read(directory, rank, "out"), _read(directory, rank, "err"), seconds)
        for rank, (returncode, seconds) in enumerate(ends)
    ]


def _start(
    program: str, rank: int, count: int, directory: Path, arguments: tuple[str, ...], environment: dict[str, str]
) -> Fork | subprocess.Popen:
    # MASTER_ADDR is not set: what then listens, listens on the loopback address.
    left_out = ("MASTER_", "HCCL_", "ASCEND_RT_VISIBLE_DEVICES", *NOT_INHERITED)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    variables |= {"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"}
    variables |= {"TORCH_ACLNN_HOST_DEVICES": str(count), **environment}
    command = [sys.executable, str(PROGRAMS / f"{program}.py"), *arguments]
    with open(directory / f"{rank}.out", "wb") as out, open(directory / f"{rank}.err", "wb") as err:
        return start(command, out, err, environment=variables, directory=str(directory), session=True)


def _read(directory: Path, rank: int, kind: str) -> str:
    return (directory / f"{rank}.{kind}").read_text(errors="replace")
