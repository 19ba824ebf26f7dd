"""The behaviour of a command when the program that reads its output, such as ``head``, has ended."""

import os
import sys
from collections.abc import Callable

_CODE = 141  # as a shell says that SIGPIPE ended a program


def quiet(action: Callable[[], int]) -> int:
    """Run the command and return its exit code, without a traceback where nobody reads standard output any more."""
    try:
        try:
            return action()
        finally:  # after `--help` too, which ends in SystemExit
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes at its end
        return _CODE
