"""Dry runs in forks of one process, which has imported what the program imports."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from torch_aclnn.command.dryrun.programs import options_of

_MAIN = "from torch_aclnn.observation.forks import main; main()"


class Forks:
    """The process, which is ended at the end of a `with` block.

    Args:
        program: what follows ``python``; its imports are done once.
        environment: the environment of all forks.

    """

    def __init__(self, program: Sequence[str], environment: Mapping[str, str]) -> None:
        self._program = program
        self._environment = environment

    def __enter__(self) -> "Forks":
        """Start the process; wait until it has imported everything.

        Raises:
            ChildProcessError: the process has ended; its message says why.

        """
        reading, writing = os.pipe()
        command = [sys.executable, *options_of(self._program), "-c", _MAIN, str(writing), json.dumps(self._program)]
        self._process = subprocess.Popen(command, env=self._environment, stdin=subprocess.PIPE, pass_fds=[writing])
        os.close(writing)
        self._answers = os.fdopen(reading)
        self._answer()
        return self

    def run(self, program: Sequence[str], environment: Mapping[str, str], output: Path) -> int:
        """Run a program in a fork and return its exit code as a shell gives it.

        Args:
            program: what follows ``python``.
            environment: variables that the fork has in addition.
            output: the file for the program's output.

        """
        request = {"program": program, "environment": environment, "output": str(output)}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return int(self._answer())

    def _answer(self) -> str:
        line = self._answers.readline()
        if not line:
            raise ChildProcessError(f"the process of the imports ended with code {self._process.wait()}")
        return line

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """End the process, and with it a fork that runs."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if kind is not None:
            self._process.terminate()
        self._process.wait()
        self._answers.close()
