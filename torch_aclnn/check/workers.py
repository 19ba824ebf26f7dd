"""Starting workers, and reading what they report."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from torch_aclnn.check.records import FAILED, Check
from torch_aclnn.loading.paths import toolkit

_LAST_LINES = 8

# The worker must import this package, and not one in the working directory, where `python -c` looks first.
_CODE = """\
import json, sys
sys.tracebacklimit, sys.path[0] = 0, sys.argv[1]
from torch_aclnn.check.worker import main
main(*map(json.loads, sys.argv[2:]))
"""


def command(mode: int, operators: Sequence[str], is_first: bool, is_quick: bool = False) -> list[str]:
    """Return the command that checks in one mode, without the number of the pipe."""
    return [sys.executable, "-c", _CODE, str(toolkit().parent.parent), *map(json.dumps, (operators, mode, is_first, is_quick))]


def run(arguments: Sequence[str], mode: int, take: Callable[[dict[str, Any]], None]) -> Check | None:
    """Start a worker and pass on each object that it reports; return a failed check if it ends with an error."""
    reader, writer = os.pipe()
    with os.fdopen(reader) as reports, tempfile.TemporaryFile("w+", errors="replace") as output:
        try:
            process = subprocess.Popen(
                [*arguments, str(writer)],
                pass_fds=[writer],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "TASK_QUEUE_ENABLE": str(mode)},
                start_new_session=True,  # so that Ctrl-C reaches the command alone, which then ends the worker
            )
        finally:
            os.close(writer)
        try:
            for values in _objects(reports):
                take(values)
            code = process.wait()
        finally:
            process.kill()
            process.wait()
        return Check("worker", None, FAILED, mode, message=f"{_ending(code)}\n{_last_lines(output)}") if code else None


def _objects(lines: IO[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.endswith("\n"):  # a line without an end is of a worker that died while it wrote
            yield json.loads(line)


def _ending(code: int) -> str:
    if code > 0:
        return f"the worker ended with code {code}"
    try:
        return f"the worker was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"the worker was ended by signal {-code}"


def _last_lines(output: IO[str]) -> str:
    output.seek(0)
    return "\n".join(output.read().splitlines()[-_LAST_LINES:])
