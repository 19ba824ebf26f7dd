"""Processes that several threads start and wait for, each with a limit of time."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

# A process imports once what the others need, and is copied for each of them.
FORKS = multiprocessing.get_context("forkserver")


class Processes:
    """Starts processes in sessions of their own, and ends them with what they started."""

    def __init__(self) -> None:
        self._running: set[BaseProcess] = set()
        # An exit code can be read only once, and a process that is started asks for those of all others.
        self._exit_codes = threading.Lock()

    def run(self, target: Callable[..., object], arguments: tuple[object, ...], timeout: float | None = None) -> int | None:
        """Call ``target``, which begins a session, in a process; return the exit code, or None after ``timeout`` seconds."""
        process = FORKS.Process(target=target, args=arguments)
        with self._exit_codes:
            process.start()
        self._running.add(process)
        try:
            wait([process.sentinel], timeout)
            return self._exit_code(process)
        finally:
            _kill(process)
            wait([process.sentinel])
            self._exit_code(process)
            self._running.discard(process)

    def end(self) -> None:
        """End those that run."""
        for process in list(self._running):
            _kill(process)

    def _exit_code(self, process: BaseProcess) -> int | None:
        with self._exit_codes:
            return process.exitcode


def _kill(process: BaseProcess) -> None:
    """End a process and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
