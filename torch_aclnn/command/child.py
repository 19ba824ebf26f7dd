"""A program that a command runs, and reports on when it has ended."""

import subprocess
import sys
from collections.abc import Mapping, Sequence


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the program on the same standard streams and return its exit code; 128 and the signal's number if a signal ended it."""
    sys.stdout.flush()
    program = subprocess.Popen(command, env=environment)
    while True:
        try:
            code = program.wait()
        except KeyboardInterrupt:  # the terminal sent it to the program too, which decides what to do
            continue
        return code if code >= 0 else 128 - code
