"""The calls that a program put on streams, in its order, from a trace of ``TORCH_ACLNN_HOST_TRACE`` (docs/trace.md)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(
    r'\{"kind": "call", .*?"name": "(?P<name>\w+)"(?:, "phase": (?P<phase>\d))?(?:, "call": (?P<call>\d+))?(?:, "device": \d+)?'
    r'(?:, "stream": (?P<stream>\d+))?, "duration": [^,]+, "code": 0, "arguments": (?P<arguments>\{.*\})\}'
)
_CALL = '{"kind": "call"'
MESSAGES = ("HcclSend", "HcclRecv", "HcclBatchSendRecv")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the timeline has a use for.

    Attributes:
        name: of the entry point or function.
        stream: its number, or None where the call names none.
        arguments: as the trace has them, in JSON.

    """

    name: str
    stream: int | None
    arguments: str


def read(path: Path) -> Iterator[Call]:
    """Yield the calls that succeeded; a call of an entry point is that of its second phase, with the arguments of the first."""
    first_phases: dict[str, str] = {}
    known: dict[str, str] = {}  # equal arguments are kept once
    with path.open(errors="replace") as file:
        for line in file:
            found = _LINE.match(line) if line.startswith(_CALL) else None
            if found is None:
                continue
            name, phase, call, stream, arguments = found.groups()
            if phase == "1":
                first_phases[call] = arguments
                continue
            if phase == "2":
                arguments = first_phases.pop(call, "{}")
            yield Call(name, None if stream is None else int(stream), known.setdefault(arguments, arguments))
