"""The time that each entry point took."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch_aclnn.command.trace.records import Record

_FIRST_PHASE = 1
_NAME_WIDTH = 43
_TIME_WIDTH = 10


@dataclass
class EntryPoint:
    """The calls of an entry point or function.

    Attributes:
        calls: how often it was called; both phases of an entry point count as one call.
        failed: how many of its calls and tasks returned a code other than 0, or were skipped after a failure.
        host_seconds: in its calls, without tasks that ran in them on the calling thread.
        task_seconds: in its tasks.

    """

    calls: int = 0
    failed: int = 0
    host_seconds: float = 0.0
    task_seconds: float = 0.0

    @property
    def total_seconds(self) -> float:
        """The time of its calls and tasks together."""
        return self.host_seconds + self.task_seconds

    def add_call(self, fields: dict[str, Any], host_seconds: float) -> None:
        """Count a call; a first phase that succeeds is not counted, because the second one is."""
        failed = fields["code"] != 0
        self.calls += fields.get("phase") != _FIRST_PHASE or failed
        self.failed += failed
        self.host_seconds += host_seconds

    def add_task(self, fields: dict[str, Any]) -> None:
        """Count a task."""
        self.failed += fields["code"] != 0
        self.task_seconds += fields["duration"]


def by_entry_point(records: Iterable[Record]) -> dict[str, EntryPoint]:
    """Sum the records up by entry point, in the order of the time that they took, the longest first."""
    found: dict[str, EntryPoint] = defaultdict(EntryPoint)
    # A task that ran within a call on its thread comes right before the line of that call.
    tasks: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if record.kind == "task":
            found[record.fields["name"]].add_task(record.fields)
            tasks[record.thread].append(record.fields)
        elif record.kind == "call":
            inside = [task["duration"] for task in tasks.pop(record.thread, []) if task["time"] >= record.fields["time"]]
            found[record.fields["name"]].add_call(record.fields, max(0.0, record.fields["duration"] - sum(inside)))
    return dict(sorted(found.items(), key=lambda item: (-item[1].total_seconds, item[0])))


def as_json(found: dict[str, EntryPoint]) -> dict[str, Any]:
    """Return the object that ``torch-aclnn trace --json`` prints."""
    total = _total(found)
    return {
        "total_seconds": total,
        "entry_points": [
            {
                "name": name,
                "calls": entry.calls,
                "failed": entry.failed,
                "total_seconds": entry.total_seconds,
                "task_seconds": entry.task_seconds,
                "mean_seconds": _mean(entry),
                "share": _share(entry, total),
            }
            for name, entry in found.items()
        ],
    }


def as_table(found: dict[str, EntryPoint]) -> list[str]:
    """Return the lines of the table, of at most 80 characters."""
    total = _total(found)
    lines = [_row("entry point", "calls", "total ms", "mean us", "share")]
    for name, entry in found.items():
        times = _fitting(entry.total_seconds * 1e3, 3), _fitting(_mean(entry) * 1e6, 1)
        lines.append(_row(name, str(entry.calls), *times, f"{_share(entry, total):.1%}"))
    failed = {name: entry.failed for name, entry in found.items() if entry.failed}
    if failed:
        lines += ["", "failed", *(_row(name, str(count)) for name, count in failed.items())]
    return lines


def _fitting(number: float, decimals: int) -> str:
    text = f"{number:.{decimals}f}"
    return text if len(text) < _TIME_WIDTH else f"{number:.2e}"


def _row(name: str, calls: str, *figures: str) -> str:
    widths = (_TIME_WIDTH, _TIME_WIDTH, 7)
    columns = "".join(figure.rjust(width) for figure, width in zip(figures, widths, strict=False))
    return f"{name:<{_NAME_WIDTH}}{calls:>9}{columns}"


def _total(found: dict[str, EntryPoint]) -> float:
    return sum(entry.total_seconds for entry in found.values())


def _mean(entry: EntryPoint) -> float:
    return entry.total_seconds / max(entry.calls, 1)


def _share(entry: EntryPoint, total: float) -> float:
    return entry.total_seconds / total if total else 0.0
