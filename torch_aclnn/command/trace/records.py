"""The lines of a trace."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FORMAT = 1
_NUMBER = (int, float)
_COMMON = {"kind": str, "time": _NUMBER, "pid": int, "thread": int}
_EXECUTED = {"name": str, "duration": _NUMBER, "code": int}
# Required fields of the lines of each kind.
_FIELDS: dict[str, dict[str, Any]] = {
    "process": {"format": int, "unix_time": _NUMBER},
    "call": {**_EXECUTED, "arguments": dict},
    "task": {**_EXECUTED, "device": int, "stream": int},
    "error": {"message": str},
    "log": {"message": str},
}
# Optional fields.
_OPTIONAL = {"call": int, "phase": int, "device": int, "stream": int, "message": str, "arguments": dict, "rank": str}


class TraceError(ValueError):
    """A file that is no trace, or not all of one; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line. ``start`` is when the clock of its process was at 0, in seconds of Unix time."""

    start: float
    fields: dict[str, Any]

    @property
    def kind(self) -> str:
        """``process``, ``call``, ``task``, ``error`` or ``log``."""
        return str(self.fields["kind"])

    @property
    def thread(self) -> tuple[int, int]:
        """The process and the thread that wrote the line."""
        return self.fields["pid"], self.fields["thread"]


def read(path: Path) -> Iterator[Record]:
    """Yield the lines of the file.

    Raises:
        TraceError: if a line is not one of a trace, or comes before the line of its process.
        OSError: if the file cannot be read.

    """
    starts: dict[int, float] = {}
    number = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                fields = _parsed(line)
                if fields["kind"] == "process":
                    starts[fields["pid"]] = fields["unix_time"]
                elif fields["pid"] not in starts:
                    raise ValueError(f'expected the line of kind "process" of process {fields["pid"]} before its other lines')
            except ValueError as error:
                raise TraceError(f"{path}: line {number}: {error}") from None
            yield Record(starts[fields["pid"]], fields)
    if number == 0:
        raise TraceError(f"{path}: expected the lines of a trace, got an empty file")


def _parsed(line: bytes) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        raise ValueError(f"expected a whole line, got one that ends after {len(line)} bytes")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        fields = None
    kind = fields.get("kind") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(kind, str) or kind not in _FIELDS:
        raise ValueError(f"expected a line of a trace, got {_shortened(line)}")
    present = {name: expected for name, expected in _OPTIONAL.items() if name in fields}
    for name, expected in {**present, **_COMMON, **_FIELDS[kind]}.items():
        if not _is(fields.get(name), expected):
            raise ValueError(f'expected a line of kind "{kind}" with "{name}", got {_shortened(line)}')
    if fields.get("format", _FORMAT) != _FORMAT:
        raise ValueError(f"expected a trace of format {_FORMAT}, got format {fields['format']}, of another version of torch_aclnn")
    return fields


def _is(value: object, expected: Any) -> bool:
    return isinstance(value, expected) and not isinstance(value, bool) and not (isinstance(value, float) and not math.isfinite(value))


def _shortened(line: bytes) -> str:
    text = repr(line.decode(errors="replace").rstrip("\n"))
    return text if len(text) <= 60 else f"{text[:60]}..."
