"""What ``torch-aclnn coverage`` does: run a program on the host engine and list the entry points that it used and those that it missed.

The engine's trace is the source. It comes through a pipe, so that a long program needs no space for it, and one that dies leaves all
that it said.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from torch_aclnn.host.engine import ATEN_ADAPTERS, environment_with_engine
from torch_aclnn.host.info import version

_PACKAGES = ("torch", "torch_npu", "torch_aclnn")

# The lines of the trace that matter. The last two are torch_npu's: the last of the engine's libraries with entry points that it looks
# into, and what it does when none has the symbol.
_LAUNCHED = re.compile(r" task (aclnn\w+) on stream \d+ of device \d+$")
_REFUSED = re.compile(r"operator (\w+) has no entry point in the torch_aclnn host engine")
_NOT_FOUND = re.compile(rf"dlsym (acl\w+)GetWorkspaceSize from {re.escape(ATEN_ADAPTERS)} failed")
_INSTEAD = re.compile(r"\[PTA\]:(acl\w+) or \w+ not in .* Will call (\w+::\w+)")

# The last line of the trace, which no program writes.
_END = "torch-aclnn coverage: the program has ended\n"

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

    def read(self, trace: Iterable[str]) -> None:
        """Take in lines of the engine's trace."""
        for line in trace:
            if launched := _LAUNCHED.search(line):
                self.used[launched[1]] += 1
            elif refused := _REFUSED.search(line):
                self.refused.add(refused[1])
            elif sought := _NOT_FOUND.search(line):
                self.missing.setdefault(sought[1], "")
            elif instead := _INSTEAD.search(line):
                self.missing[instead[1]] = instead[2]

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
        pipe = Path(directory) / "trace"
        os.mkfifo(pipe)
        # Open for writing too: reading then neither waits for the program's first line nor ends between two of its processes.
        descriptor = os.open(pipe, os.O_RDWR)
        with os.fdopen(os.dup(descriptor), "w") as end, os.fdopen(descriptor, errors="replace") as trace:
            reader = threading.Thread(target=lambda: coverage.read(iter(trace.readline, _END)))
            reader.start()
            exit_code = _run(python_arguments, pipe)
            end.write(_END)
            end.flush()
            reader.join()
    print("\ntorch-aclnn coverage: " + coverage.report(exit_code))
    return exit_code


def _run(python_arguments: list[str], trace: Path) -> int:
    environment = {
        **environment_with_engine(),
        "TORCH_ACLNN_HOST_TRACE": str(trace),
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
