"""A trace in Chrome's format, for chrome://tracing and https://ui.perfetto.dev."""

from collections.abc import Sequence
from typing import Any

from torch_aclnn.command.trace.records import Record

# Rows are numbered as threads are. The numbers of streams begin above those that a thread of Linux can have, which are below 2^22.
_FIRST_STREAM = 1 << 30
_NANOSECONDS = 10**9

Event = dict[str, Any]


def events(records: Sequence[Record]) -> list[Event]:
    """Return the trace's events. Each process has a row for each stream, with its tasks, and for each thread, with its calls."""
    drawn = [record for record in records if record.kind != "process"]
    origin = min((_nanoseconds(record.start) for record in records), default=0)
    arguments = {_call(record): record.fields["arguments"] for record in drawn if record.fields.get("phase") == 1}
    return [*_names(records), *(_event(record, origin, arguments) for record in drawn)]


def _event(record: Record, origin: int, arguments: dict[tuple[int, int | None], Event]) -> Event:
    fields = record.fields
    begin = _nanoseconds(record.start) - origin + _nanoseconds(fields["time"])
    event = {"name": fields.get("name", record.kind), "cat": record.kind, "pid": fields["pid"], "tid": _row(record), "ts": begin / 1000}
    if "duration" not in fields:
        return {**event, "ph": "i", "s": "t", "args": {"message": fields["message"]}}
    details: Event = {name: fields[name] for name in ("phase", "call", "code", "message", "skipped") if name in fields}
    details |= fields.get("arguments") or arguments.get(_call(record), {})
    return {**event, "ph": "X", "dur": _nanoseconds(fields["duration"]) / 1000, "args": details}


def _names(records: Sequence[Record]) -> list[Event]:
    names: dict[tuple[int, int | None], str] = {}
    for record in records:
        pid, thread = record.thread
        if record.kind == "process":
            rank = record.fields.get("rank")
            names[pid, None] = f"process {pid}" if rank is None else f"rank {rank} (process {pid})"
        elif record.kind == "task":
            names[pid, _row(record)] = f"stream {record.fields['stream']} of device {record.fields['device']}"
        else:
            names[pid, thread] = f"thread {thread}"
    named = []
    for (pid, row), name in names.items():
        if row is None:
            named.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
        else:
            named.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": row, "args": {"name": name}})
    return named


def _row(record: Record) -> int:
    thread: int = record.fields["thread"]
    return _FIRST_STREAM + int(record.fields["stream"]) if record.kind == "task" else thread


def _call(record: Record) -> tuple[int, int | None]:
    return record.fields["pid"], record.fields.get("call")


def _nanoseconds(seconds: float) -> int:
    return round(seconds * _NANOSECONDS)
