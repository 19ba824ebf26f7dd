"""The lines of a trace."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FORMAT = 1
_NUMBER = (int, float)
_COMMON = {"kind": str, "time": _NUMBER, "pid": int, "thread": int}
_EXECUTED = {"name": str, "duration": _NUMBER, "code": int}
# What the lines of each kind have at least.
_FIELDS: dict[str, dict[str, Any]] = {
    "process": {"format": int, "unix_time": _NUMBER},
    "call": {**_EXECUTED, "arguments": dict},
    "task": {**_EXECUTED, "device": int, "stream": int},
    "error": {"message": str},
    "log": {"message": str},
}


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
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or fields.get("kind") not in _FIELDS:
        raise ValueError(f"expected a line of a trace, got {_shortened(line)}")
    for name, kind in {**_COMMON, **_FIELDS[fields["kind"]]}.items():
        if not isinstance(fields.get(name), kind) or isinstance(fields.get(name), bool):
            raise ValueError(f'expected a line of kind "{fields["kind"]}" with "{name}", got {_shortened(line)}')
    if fields.get("format", _FORMAT) != _FORMAT:
        raise ValueError(f"expected a trace of format {_FORMAT}, got format {fields['format']}, of another version of torch_aclnn")
    return fields


def _shortened(line: bytes) -> str:
    text = repr(line.decode(errors="replace").rstrip("\n"))
    return text if len(text) <= 60 else f"{text[:60]}..."
