"""``torch-aclnn check``: start the workers, show their progress, print and write the report."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch_aclnn._repository import ADDRESS
from torch_aclnn.check import workers
from torch_aclnn.check.names import without_names
from torch_aclnn.check.report import Report
from torch_aclnn.check.tables import print_report

# The exit code of a program that Ctrl-C ended.
_INTERRUPTED = 130

# It is printed on standard error, so that the verdict is the last line of the output.
_WHAT_THE_FILE_HAS = """\
{file} has the results, versions, the environment variables that matter here,
and paths and hashes of libraries; no host or user name. Passed or failed, it is
welcome at {address}/issues"""


def run(operators: Sequence[str], modes: Sequence[int], json_file: Path | None, is_quick: bool = False) -> int:
    """Check, and return the exit code: 0 if all passed, 1 if not."""
    from rich.console import Console  # imported here, because the other commands do without rich

    report, started = Report(operators, modes, is_quick), time.monotonic()
    try:
        _run_workers(report)
    except KeyboardInterrupt:
        report.interrupted = True
    report.seconds = time.monotonic() - started
    print_report(Console(), report)
    if json_file is not None:
        json_file.write_text(json.dumps(without_names(report.document()), indent=1) + "\n")
        print(_WHAT_THE_FILE_HAS.format(file=json_file, address=ADDRESS), file=sys.stderr, flush=True)
    return _INTERRUPTED if report.interrupted else int(not report.passed)


def _run_workers(report: Report) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("starting", total=None)

        def take(values: dict[str, Any]) -> None:
            report.take(values)
            # A worker reports its number of checks as it starts; those that have not started are taken to have as many.
            expected = max(report.total, report.total * len(report.modes) // started)
            progress.update(bar, completed=len(report.checks), total=expected)

        for started, mode in enumerate(report.modes, start=1):
            progress.update(bar, description=f"mode {mode}")
            ended_early = workers.run(workers.command(mode, report.operators, started == 1, report.is_quick), mode, take)
            if ended_early is not None:
                report.checks.append(ended_early)
