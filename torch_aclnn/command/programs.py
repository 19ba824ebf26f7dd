"""``torch-aclnn run``, ``coverage``, ``debug`` and ``dryrun``: a program under the host engine."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from torch_aclnn.command import coverage, debug
from torch_aclnn.command.dryrun import arguments as dryrun
from torch_aclnn.command.dryrun import command as dryrun_command
from torch_aclnn.command.locations import environment_of_programs
from torch_aclnn.command.parser import Parser

_RUN = """\
usage: torch-aclnn run [--help] script.py [arguments]
       torch-aclnn run [--help] -m module [arguments]
       torch-aclnn run [--help] -c code [arguments]

Run a Python program with the host engine as its npu device. What follows is
what would follow `python`, options of Python included. The program may import
torch first, and needs no change. The engine's npu-smi is first on its PATH.

examples:
  torch-aclnn run train.py --epochs 3
  torch-aclnn run -m pytest tests
"""

_COVERAGE = """\
usage: torch-aclnn coverage [--help] [--json FILE] script.py [arguments]
       torch-aclnn coverage [--help] [--json FILE] -m module [arguments]
       torch-aclnn coverage [--help] [--json FILE] -c code [arguments]

Do what `torch-aclnn run` does, and afterwards list on standard error the entry
points that the program used, those that it missed, and the operators that
torch_npu handed to the CPU. Standard output and the exit code stay the
program's.

  --json FILE  write the report as JSON to FILE too

examples:
  torch-aclnn coverage train.py --epochs 1
  torch-aclnn coverage --json report.json -m pytest tests
"""

_DEBUG = """\
usage: torch-aclnn debug [--help] [--without MODES] program [arguments]
       torch-aclnn debug [--help] [--without MODES] script.py [arguments]
       torch-aclnn debug [--help] [--without MODES] -m module [arguments]
       torch-aclnn debug [--help] [--without MODES] -c code [arguments]

Run a program, in Python or any other language, in the modes of the host engine
that find errors: two streams on one memory without an event, work that is not
waited for, host code that touches device memory, memory that nobody wrote,
workspaces, lifetimes, leaks, and arguments that no document promises. Findings
go to standard error. The exit code is the program's, or {FOUND} if that is 0 and
something was found. Further modes are those of TORCH_ACLNN_HOST_MODE.

  --without MODES  leave out some of these, with commas between them:
                   {MODES}

examples:
  torch-aclnn debug ./client
  torch-aclnn debug --without strict train.py --epochs 1
"""

_MODES = ", ".join(debug.MODES)
_OPTIONS = {"coverage": "--json", "debug": "--without"}
_HELP = {"run": _RUN, "coverage": _COVERAGE, "debug": _DEBUG.format(FOUND=debug.FOUND, MODES=_MODES)}


def add_parsers(commands: Any) -> None:
    """Add the commands to the list that the help shows; :func:`parse` takes their arguments."""
    commands.add_parser("run", help="run a Python program on the host engine", add_help=False)
    commands.add_parser("coverage", help="do the same, and list the entry points used and missing", add_help=False)
    commands.add_parser("debug", help="run a program in all modes that find errors", add_help=False)
    dryrun.add_parser(commands)


def parse(arguments: list[str]) -> argparse.Namespace | None:
    """Return what the arguments ask for, or None if they are for another command.

    Only the argument directly after the command can be an option of the command; the rest belongs to Python or the program.
    """
    if arguments[:1] == [dryrun.NAME]:
        return argparse.Namespace(**vars(dryrun.parse(arguments[1:])), action=dryrun_command.run)
    if not arguments or arguments[0] not in _HELP:
        return None
    command, rest = arguments[0], arguments[1:]
    if rest[:1] in (["--help"], ["-h"]):
        print(_HELP[command], end="")
        raise SystemExit(0)
    error = Parser(prog=f"torch-aclnn {command}").error
    value = ""
    if rest and rest[0].split("=")[0] == _OPTIONS.get(command):
        _, equals, value = rest[0].partition("=")
        value, rest = (value, rest[1:]) if equals else ("".join(rest[1:2]), rest[2:])
        if command == "coverage" and not (value and os.access(Path(value).absolute().parent, os.W_OK)):
            error(f"--json: expected a file in a folder that can be written, got {value or 'nothing'}")
        if command == "debug" and not set(value.split(",")) <= set(debug.MODES):
            error(f"--without: expected some of {_MODES} with commas between them, got {value or 'nothing'}")
    if not rest:
        error("expected " + ("a program, " if command == "debug" else "") + "a script, -c or -m and its arguments")
    return argparse.Namespace(command=command, action=_ACTIONS[command], arguments=rest, value=value)


def _run(arguments: argparse.Namespace) -> int:
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *arguments.arguments], environment_of_programs())


_ACTIONS = {
    "run": _run,
    "coverage": lambda arguments: coverage.run(arguments.arguments, Path(arguments.value).absolute() if arguments.value else None),
    "debug": lambda arguments: debug.run(arguments.arguments, arguments.value.split(",")),
}
