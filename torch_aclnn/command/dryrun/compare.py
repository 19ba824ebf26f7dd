"""``torch-aclnn dryrun --compare``: what differs between two reports."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch_aclnn.command.dryrun.screen import WIDTH, program_of, shortened, size
from torch_aclnn.command.dryrun.times import compared, seconds
from torch_aclnn.command.parser import USAGE_ERROR
from torch_aclnn.observation.report import FORMAT, Report, load

_COLUMN = 14


def compare(*paths: Path) -> int:
    """Print what differs and return 0, or 2 if a file is no report."""
    try:
        first, second = (_read(path) for path in paths)
    except ValueError as error:
        print(f"torch-aclnn dryrun: --compare: {error}", file=sys.stderr)
        return USAGE_ERROR
    print("\n".join(comparison(first, second)))
    return 0


def comparison(first: Report, second: Report) -> list[str]:
    """Return the lines of the comparison."""
    lines = [shortened(f"{name}: {program_of(report)}", WIDTH) for name, report in (("first", first), ("second", second))]
    lines += ["", _row("", "first", "second", "difference")]
    lines += [_row("exit code", *(str(report.fits.code) for report in (first, second)), "")]
    for name, figures in (("memory", _memory), ("launches in the last step", _launches), ("communication", _communication)):
        rows = list(_differences(figures(first), figures(second), size if figures is not _launches else str))
        lines += ["", name, *rows] if rows else []
    rows = list(_differences(compared(first), compared(second), seconds))
    return [*lines, "", "estimated time", *rows] if rows else lines


def _read(path: Path) -> Report:
    try:
        report = load(Report, path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    except ValueError:
        report = None
    if report is None or report.format != FORMAT:
        raise ValueError(f"{path}: expected a report of format {FORMAT}, as --json writes it")
    return report


def _memory(report: Report) -> dict[str, int]:
    memory = report.memory
    if memory is None:
        return {}
    parts = memory.peak.categories if memory.peak else {}
    return {
        "needed": report.fits.needed,
        "reserved": memory.reserved,
        "allocated": memory.allocated,
        **{f"  {name}": count for name, count in parts.items()},
    }


def _launches(report: Report) -> dict[str, int]:
    last: dict[str, int] = report.calls[-1] if report.calls else {}
    return {"all": sum(last.values()), **{f"  {name}": count for name, count in last.items()}}


def _communication(report: Report) -> dict[str, int]:
    sums: dict[str, int] = {}
    for one in report.communication:
        sums[one.name] = sums.get(one.name, 0) + one.bytes
    return sums


def _differences(first: dict[str, Any], second: dict[str, Any], text: Any) -> Iterator[str]:
    for name in dict.fromkeys([*first, *second]):
        a, b = first.get(name, 0), second.get(name, 0)
        if a != b or not name.startswith("  "):
            yield _row(name, text(a), text(b), f"{'+' if b > a else ''}{text(b - a)}" if a != b else "")


def _row(name: str, *columns: str) -> str:
    width = WIDTH - _COLUMN * len(columns)
    return (f"{shortened(name, width):<{width}}" + "".join(column.rjust(_COLUMN) for column in columns)).rstrip()
