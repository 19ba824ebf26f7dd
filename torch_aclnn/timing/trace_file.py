"""A timeline in the format of torch's profiler, for Perfetto, chrome://tracing and MindStudio Insight."""

import json
from pathlib import Path
from typing import Any

from torch_aclnn.timing.timeline import COLLECTIVE, Timeline

_HOST, _DEVICE = 0, 1
_MICROSECONDS = 1e6


def write(timeline: Timeline, path: Path, card: str) -> None:
    """Write the timeline: a row for the host's launches and one for each stream."""
    events: list[dict[str, Any]] = [_name("process_name", _HOST, 0, "host"), _name("process_name", _DEVICE, 0, card)]
    communicating = {task.stream for task in timeline.tasks if task.work.unit == COLLECTIVE}
    for stream in sorted({task.stream for task in timeline.tasks}):
        events.append(_name("thread_name", _DEVICE, stream, f"stream {stream}{', communication' if stream in communicating else ''}"))
    for number, task in enumerate(timeline.tasks):
        cost = task.work.cost
        details = {"unit": task.work.unit, "External id": number}
        if cost is not None:
            details |= {"flops": cost.flops, "bytes": cost.bytes, "only bytes known": cost.by_default}
        issued = task.issued * _MICROSECONDS
        common = {"ph": "X", "name": task.name}
        events.append(
            {**common, "cat": "cpu_op", "pid": _HOST, "tid": 0, "ts": issued - task.pace * _MICROSECONDS, "dur": task.pace * _MICROSECONDS}
        )
        at = {"pid": _DEVICE, "tid": task.stream, "ts": task.begin * _MICROSECONDS, "dur": task.work.seconds * _MICROSECONDS}
        events.append({**common, "cat": "kernel", **at, "args": details})
    path.write_text(json.dumps({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events}))


def _name(kind: str, process: int, row: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": row, "args": {"name": name}}
