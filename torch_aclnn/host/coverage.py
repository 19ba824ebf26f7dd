"""What ``torch-aclnn coverage`` does: run a program on the host engine and list the entry points that it used and those that it missed.

The engine counts into files that are mapped into memory, one for each process, so that a process that dies leaves its counts. What it
cannot know is which symbols torch_npu looked up in vain: torch_npu's own log says that.
"""

import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from torch_aclnn.host.engine import ATEN_ADAPTERS, environment_with_engine
from torch_aclnn.host.info import version

_PACKAGES = ("torch", "torch_npu", "torch_aclnn")

# What csrc/engine/runtime/diagnostics/coverage.cpp writes: a record's kind, its name and its count.
_RECORD = struct.Struct("=I116sQ")
_ENTRY_POINT, _REFUSED_OPERATOR = 1, 2

# What torch_npu says of the last of the engine's libraries with entry points that it looks into, and what it does when none has the symbol.
_NOT_FOUND = re.compile(rf"dlsym (acl\w+)GetWorkspaceSize from {re.escape(ATEN_ADAPTERS)} failed")
_INSTEAD = re.compile(r"\[PTA\]:(acl\w+) or \w+ not in .* Will call (\w+::\w+)")

# torch_npu tells of symbols that it does not find at the level of warnings.
_LOG_WARNINGS = "2"


@dataclass
class Coverage:
    """What a program asked of the engine.

    Attributes:
        used: how often each entry point ran.
        missing: the entry points that torch_npu looked for in vain, each with what it called instead, or nothing.
        refused: the operators that it called by name, which the engine refuses.

    """

    used: Counter[str] = field(default_factory=Counter)
    missing: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    def read_counts(self, records: bytes) -> None:
        """Take in the counts of a process."""
        for kind, padded, calls in _RECORD.iter_unpack(records):
            name = padded.rstrip(b"\0").decode(errors="replace")
            if kind == _ENTRY_POINT and calls > 0:
                self.used[name] += calls
            elif kind == _REFUSED_OPERATOR:
                self.refused.add(name)

    def read_log(self, lines: Iterable[str]) -> None:
        """Take in lines of torch_npu's log."""
        for line in lines:
            if sought := _NOT_FOUND.search(line):
                self.missing.setdefault(sought[1], "")
            elif instead := _INSTEAD.search(line):
                self.missing[instead[1]] = instead[2]

    def read(self, directory: Path) -> None:
        """Take in what the engine has left in a directory."""
        for counts in directory.glob("*.calls"):
            self.read_counts(counts.read_bytes())
        log = directory / "log"
        if log.exists():
            with log.open(errors="replace") as lines:
                self.read_log(lines)

    def report(self, exit_code: int) -> str:
        """Return the text that the command prints, fit for a bug report."""
        lines = [", ".join(f"{name} {version(name)}" for name in _PACKAGES)]
        lines += ["", f"entry points used: {len(self.used)}"]
        lines += [f"  {name:40} {calls:>10}" for name, calls in sorted(self.used.items())]
        lines += ["", f"entry points missing: {len(self.missing)}"]
        lines += [f"  {name:40} {f'torch_npu called {used}' if used else ''}".rstrip() for name, used in sorted(self.missing.items())]
        lines += ["", f"operators called by name, and refused: {len(self.refused)}"]
        lines += [f"  {name}" for name in sorted(self.refused)]
        return "\n".join([*lines, "", f"the program ended with code {exit_code}"])


def run(python_arguments: list[str]) -> int:
    """Run Python with the arguments under the host engine, print the report, and return the program's exit code."""
    coverage = Coverage()
    with tempfile.TemporaryDirectory(prefix="torch_aclnn_") as directory:
        exit_code = _run(python_arguments, Path(directory))
        coverage.read(Path(directory))
    print("\ntorch-aclnn coverage: " + coverage.report(exit_code))
    return exit_code


def _run(python_arguments: list[str], directory: Path) -> int:
    environment = {
        **environment_with_engine(),
        "TORCH_ACLNN_HOST_COVERAGE": str(directory),
        "ASCEND_GLOBAL_LOG_LEVEL": _LOG_WARNINGS,
    }
    sys.stdout.flush()
    program = subprocess.Popen([sys.executable, *python_arguments], env=environment)
    while True:
        try:
            code = program.wait()
        except KeyboardInterrupt:  # the terminal sent it to the program too, which decides what to do
            continue
        return code if code >= 0 else 128 - code  # as a shell says that a signal ended it
