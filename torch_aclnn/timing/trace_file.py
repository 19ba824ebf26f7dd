"""A timeline in the format of torch's profiler, for Perfetto, chrome://tracing and MindStudio Insight."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch_aclnn.timing.timeline import COLLECTIVE, Timeline

_MICROSECONDS = 1e6


def write(timelines: Mapping[str, Timeline], path: Path, card: str) -> None:
    """Write timelines by the name of their rank, each with a row for the host's launches and one for each stream."""
    events = [event for number, (name, one) in enumerate(timelines.items()) for event in _events(one, 2 * number, name, card)]
    path.write_text(json.dumps({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events}))


def _events(timeline: Timeline, host: int, name: str, card: str) -> Iterator[dict[str, Any]]:
    device = host + 1
    yield _name("process_name", host, 0, f"{name}host")
    yield _name("process_name", device, 0, f"{name}{card}")
    communicating = {task.stream for task in timeline.tasks if task.work.unit == COLLECTIVE}
    for stream in sorted({task.stream for task in timeline.tasks}):
        yield _name("thread_name", device, stream, f"stream {stream}{', communication' if stream in communicating else ''}")
    for number, task in enumerate(timeline.tasks):
        cost = task.work.cost
        details = {"unit": task.work.unit, "External id": number}
        if cost is not None:
            details |= {"flops": cost.flops, "bytes": cost.bytes, "only bytes known": cost.by_default}
        begin, pace = (task.issued - task.pace) * _MICROSECONDS, task.pace * _MICROSECONDS
        common = {"ph": "X", "name": task.name}
        yield {**common, "cat": "cpu_op", "pid": host, "tid": 0, "ts": begin, "dur": pace}
        at = {"pid": device, "tid": task.stream, "ts": task.begin * _MICROSECONDS, "dur": task.work.seconds * _MICROSECONDS}
        yield {**common, "cat": "kernel", **at, "args": details}


def _name(kind: str, process: int, row: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": row, "args": {"name": name}}
