"""Running a program for a command, which reports on it at its end."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def folder() -> Iterator[Path]:
    """Make a folder for files that the program leaves to the command, and remove it in the end, after SIGTERM too."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
    with tempfile.TemporaryDirectory(prefix="torch_aclnn_") as directory:
        yield Path(directory)


def run(command: Sequence[str], environment: Mapping[str, str], output: IO[str] | None = None) -> int:
    """Run the program on the same standard streams and return its exit code; 128 and the signal's number if a signal ended it.

    What it prints goes to a file if one is given. SIGTERM, which comes to the command alone, is passed on to the program.
    """
    sys.stdout.flush()
    programs: list[subprocess.Popen[bytes]] = []
    signals: list[int] = []

    def pass_on(number: int, _: object) -> None:
        signals.append(number)
        for program in programs:
            program.terminate()

    outside = signal.signal(signal.SIGTERM, pass_on)
    try:
        programs.append(subprocess.Popen(command, env=environment, stdout=output, stderr=output))
        if signals:  # a signal came before the program had been started
            programs[0].terminate()
        return _end_of(programs[0])
    finally:
        signal.signal(signal.SIGTERM, outside)


def _end_of(program: "subprocess.Popen[bytes]") -> int:
    while True:
        try:
            code = program.wait()
        except KeyboardInterrupt:  # the terminal sent it to the program too, which decides what to do
            continue
        return code if code >= 0 else 128 - code
