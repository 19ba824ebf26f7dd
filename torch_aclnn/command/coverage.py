"""The command ``torch-aclnn coverage``: run a program on the host engine and list the entry points that it used and those that it missed.

The engine counts in files that are mapped into memory, one for each process, so that a process that dies leaves its counts. What it
cannot know is which symbols torch_npu looked up in vain, and which operators torch_npu handed to the CPU: torch_npu's own log says the
first, and its warnings the second. The engine keeps both in a file, whatever becomes of the process's standard error.
"""

import argparse
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch_aclnn.command import child
from torch_aclnn.command.installation import version
from torch_aclnn.command.locations import environment_of_programs
from torch_aclnn.command.parser import PYTHONS, add_program, program_of, writable
from torch_aclnn.loading.engine import ATEN_ADAPTERS
from torch_aclnn.observation.report import CoverageReport, save

_DESCRIPTION = """\
Do what `torch-aclnn run` does, and afterwards list on standard error the entry
points that the program used, those that it missed, and the operators that
torch_npu handed to the CPU. Standard output and the exit code stay the
program's.
"""
_EXAMPLES = """\
examples:
  torch-aclnn coverage train.py --epochs 1
  torch-aclnn coverage --json report.json -m pytest tests
  torch-aclnn coverage --entry-point aclnnCumsumV2
"""

_PACKAGES = ("torch", "torch_npu", "torch_aclnn")

# The format of a record that csrc/engine/runtime/diagnostics/coverage.cpp writes: kind, name and count.
_RECORD = struct.Struct("=I116sQ")
_ENTRY_POINT, _REFUSED_OPERATOR = 1, 2

# torch_npu's messages: the last of the engine's libraries does not have an entry point, and what is called instead when none has it. Where
# it only asks whether there is one, to do something else if not, it asks for phase 2 alone.
_NOT_FOUND = re.compile(rf"dlsym (aclnn\w+?)(GetWorkspaceSize)? from {re.escape(ATEN_ADAPTERS)} failed")
_INSTEAD = re.compile(r'\[PTA\]:"?(acl\w+) or \w+ not in .* Will call (\w+::\w+)')

# Its message about an operator that it computes on the CPU, or about several operators if it does not know which one it is.
_FALLS_BACK = re.compile(r"fall ?back to (?:run on the )?CPU")
_ATEN_NAME = re.compile(r"\b\w+::\w+(?:\.\w+)?")

# torch_npu tells of symbols that it does not find at the level of warnings.
LOG_WARNINGS = "2"


@dataclass
class Coverage:
    """The entry points and operators that a program called.

    Attributes:
        used: how often each entry point ran.
        phase1: the entry points whose phase 1 torch_npu did not find.
        phase2: those whose phase 2 it did not find.
        instead: what it called in place of a missing entry point, if it says so.
        refused: the operators that it called by name, which the engine refuses.
        on_cpu: the operators that it handed to the CPU, each once, in order.

    """

    used: Counter[str] = field(default_factory=Counter)
    phase1: set[str] = field(default_factory=set)
    phase2: set[str] = field(default_factory=set)
    instead: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    on_cpu: list[str] = field(default_factory=list)

    @property
    def replaced(self) -> dict[str, str]:
        """The missing entry points for which torch_npu had something else, each with what it called, or "" if it does not say."""
        return dict(sorted({**dict.fromkeys(self.phase2 - self.phase1, ""), **self.instead}.items()))

    @property
    def failed(self) -> list[str]:
        """The missing entry points for which it had nothing else, so that the call failed."""
        return sorted(self.phase1 - self.instead.keys())

    def read_counts(self, records: bytes) -> None:
        """Add the counts of a process."""
        for kind, padded, calls in _RECORD.iter_unpack(records):
            name = padded.rstrip(b"\0").decode(errors="replace")
            if kind == _ENTRY_POINT and calls > 0:
                self.used[name] += calls
            elif kind == _REFUSED_OPERATOR:
                self.refused.add(name)

    def read_log(self, lines: Iterable[str]) -> None:
        """Add what lines of torch_npu's log and of its warnings say."""
        for line in lines:
            if sought := _NOT_FOUND.search(line):
                (self.phase1 if sought[2] else self.phase2).add(sought[1])
            elif instead := _INSTEAD.search(line):
                self.instead[instead[1]] = instead[2]
            else:
                self._read_warning(line)

    def _read_warning(self, line: str) -> None:
        if falls_back := _FALLS_BACK.search(line):
            names = ", ".join(_ATEN_NAME.findall(line[: falls_back.start()]))
            if names and names not in self.on_cpu:
                self.on_cpu.append(names)

    def read(self, directory: Path) -> None:
        """Add what the files say that the engine has left in a directory."""
        for counts in directory.glob("*.calls"):
            self.read_counts(counts.read_bytes())
        log = directory / "log"
        if log.exists():
            with log.open(errors="replace") as lines:
                self.read_log(lines)

    def report(self, exit_code: int) -> str:
        """Return the text that the command prints, which a bug report can quote."""
        lines = [", ".join(f"{name} {version(name)}" for name in _PACKAGES)]
        lines += ["", f"entry points used: {len(self.used)}"]
        lines += [f"  {name:50} {calls:>10}" for name, calls in sorted(self.used.items())]
        lines += ["", f"entry points missing, another was taken: {len(self.replaced)}"]
        lines += [f"  {name:40} {f'torch_npu called {used}' if used else ''}".rstrip() for name, used in self.replaced.items()]
        lines += ["", f"entry points missing, the call failed: {len(self.failed)}"]
        lines += [f"  {name}" for name in self.failed]
        lines += ["", f"operators called by name, and refused: {len(self.refused)}"]
        lines += [f"  {name}" for name in sorted(self.refused)]
        lines += ["", f"handed to the CPU: {len(self.on_cpu)}"]
        lines += [f"  {names}" for names in self.on_cpu]
        return "\n".join([*lines, "", f"the program ended with code {exit_code}"])

    def document(self, exit_code: int) -> CoverageReport:
        """Return the same for JSON."""
        return CoverageReport(
            versions={name: version(name) for name in _PACKAGES},
            used=dict(sorted(self.used.items())),
            missing_replaced=self.replaced,
            missing_failed=self.failed,
            refused=sorted(self.refused),
            handed_to_cpu=self.on_cpu,
            exit_code=exit_code,
        )


def add_parser(commands: Any) -> None:
    """Add the command to those of ``torch-aclnn``."""
    help = "do the same, and list the entry points used and missing"
    parser = add_program(commands, "coverage", PYTHONS, help=help, description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("--json", type=writable, metavar="FILE", help="write the report as JSON too")
    parser.add_argument("--entry-point", metavar="NAME", help="run nothing; print the parameters and data types of an entry point")
    parser.set_defaults(action=_run)


def _described(name: str) -> int:
    """Print the engine's data on an entry point, and return 0 if the engine computes it, else 1."""
    import torch_aclnn  # noqa: F401  # loads the engine, which the other uses of the command leave to the program
    from torch_aclnn.host.data_types import TYPES
    from torch_aclnn.host.registry import entry_points

    found = next((one for one in entry_points() if one.name == name), None)
    state = "missing" if found is None else "refused" if found.refused else f"computed, {found.family}"
    print(f"{name}: {state}")
    for index, parameter in enumerate(found.parameters if found else ()):
        numbers = parameter.data_types or (found.data_types if found and index == 0 else ())
        types = ", ".join(type for type, number in TYPES.items() if number in numbers)
        print(f"  {parameter.name:24} {parameter.kind:16} {types}".rstrip())
    return 0 if state.startswith("computed") else 1


def _run(arguments: argparse.Namespace) -> int:
    """Run Python with the arguments under the host engine, write the report on standard error, and return the program's exit code."""
    if arguments.entry_point is not None:
        return _described(arguments.entry_point)
    coverage = Coverage()
    with child.folder() as directory:
        counted = {"TORCH_ACLNN_HOST_COVERAGE": str(directory), "ASCEND_GLOBAL_LOG_LEVEL": LOG_WARNINGS}
        exit_code = child.run([sys.executable, *program_of(arguments)], {**environment_of_programs(), **counted})
        coverage.read(directory)
    print("\ntorch-aclnn coverage: " + coverage.report(exit_code), file=sys.stderr)
    if arguments.json is not None:
        save(coverage.document(exit_code), arguments.json)
    return exit_code
