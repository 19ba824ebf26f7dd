"""The command ``torch-aclnn debug``: run a program in all modes of the host engine that find errors.

The engine writes each finding on standard error, and its kind into a file, so that findings are counted whoever reads standard error.
"""

import argparse
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from torch_aclnn.command import child
from torch_aclnn.command.locations import environment_of_programs
from torch_aclnn.command.parser import PYTHONS, add_program, program_of
from torch_aclnn.loading import modes

MODES = ("strict", "workspace", "isolate", "poison", "leaks", "check_streams")
# Delays imply that streams run their work later, as on an NPU.
_DELAYS = "TORCH_ACLNN_HOST_DELAYS"

# The exit code where something was found and the program's own is 0.
FOUND = 99


_DESCRIPTION = f"""\
Run a program, in Python or any other language, in the modes of the host engine
that find errors: two streams on one memory without an event, work that is not
waited for, host code that touches device memory, memory that nobody wrote,
workspaces, lifetimes, leaks, and arguments that no document promises. Findings
go to standard error. The exit code is the program's, or {FOUND} if that is 0 and
something was found. Further modes are those of TORCH_ACLNN_HOST_MODE.
"""
_EXAMPLES = """\
examples:
  torch-aclnn debug ./client
  torch-aclnn debug --without strict train.py --epochs 1
"""


def add_parser(commands: Any) -> None:
    """Add the command to those of ``torch-aclnn``."""
    help = "run a program in all modes that find errors"
    parser = add_program(commands, "debug", ("program", *PYTHONS), help=help, description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument(
        "--without", type=_modes, default=(), metavar="MODES", help=f"leave out some of these, with commas between them: {', '.join(MODES)}"
    )
    parser.set_defaults(action=_run)


def _modes(text: str) -> list[str]:
    words = text.split(",")
    if not set(words) <= set(MODES):
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(MODES)} with commas between them, got {text or 'nothing'}")
    return words


def _run(arguments: argparse.Namespace) -> int:
    """Run the program, write a summary on standard error, and return the program's exit code, or :data:`FOUND`."""
    command, without = _command(program_of(arguments)), arguments.without
    mode = modes.host_mode(*(word for word in MODES if word not in without), without=without)
    environment = {_DELAYS: "1", **environment_of_programs(), **mode}
    with child.folder() as directory:
        file = directory / "findings"
        file.touch()
        code = child.run(command, environment | {"TORCH_ACLNN_HOST_FINDINGS": str(file)})
        findings = Counter(file.read_text().splitlines())
    settings = " ".join(f"{name}={environment[name]}" for name in (modes.VARIABLE, _DELAYS))
    print(f"\ntorch-aclnn debug: {_summary(findings, settings)}; the program ended with code {code}", file=sys.stderr)
    return code or (FOUND if findings else 0)


def _command(arguments: list[str]) -> list[str]:
    """Return the command of a program, or of Python if it is a script or one of Python's own options."""
    program = arguments[0]
    is_python = program.startswith("-") or program.endswith(".py") or Path(program).is_dir() or shutil.which(program) is None
    return [sys.executable, *arguments] if is_python else arguments


def _summary(findings: Counter[str], settings: str) -> str:
    kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(findings.items()))
    return f"{findings.total()} found: {kinds}" if kinds else f"nothing found with {settings}"
