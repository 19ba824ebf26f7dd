"""The ``torch-aclnn`` command: run programs on the host engine, and report what is installed."""

import argparse
import importlib.util
import os
import sys
import textwrap
from pathlib import Path

from torch_aclnn._operators import OPERATORS
from torch_aclnn.check import command as check
from torch_aclnn.check.compare import compare
from torch_aclnn.check.records import MODES, QUICK_MODES
from torch_aclnn.command import coverage, debug, locations
from torch_aclnn.command.dryrun import arguments as dryrun
from torch_aclnn.command.info import command as info
from torch_aclnn.command.installation import own_version
from torch_aclnn.command.parser import PYTHONS, USAGE_ERROR, Parser, add_program, program_of, quiet, writable
from torch_aclnn.command.trace import command as trace
from torch_aclnn.loading import links
from torch_aclnn.loading.links import INSTALLATION

_OPERATORS = [operator.name for operator in OPERATORS]

_DESCRIPTION = "Run programs that use the npu device without an NPU, and find out what is wrong."
_EXAMPLES = """\
examples:
  torch-aclnn run train.py --epochs 3    what `python train.py --epochs 3` does,
                                         with the host engine as its npu device
  torch-aclnn info                       what is installed, whether it fits
                                         together, and what to do if not

`torch-aclnn command --help` tells more of each command. `python -m torch_aclnn`
is the same command, but it needs a torch that imports.
"""

_RUN = """\
Run a Python program with the host engine as its npu device. What follows is
what would follow `python`, options of Python included. The program may import
torch first, and needs no change. The engine's npu-smi is first on its PATH.
"""
_RUN_EXAMPLES = """\
examples:
  torch-aclnn run train.py --epochs 3
  torch-aclnn run -m pytest tests
"""

_ENV = """\
Print shell commands with which programs that the shell starts find the engine:
its libraries, and its npu-smi. They are for sh, bash and zsh.

example:
  eval "$(torch-aclnn env)" && python train.py
"""

_CONFIG = """\
Print where the engine is, for builds and scripts. Several options may be given.

examples:
  g++ client.cpp $(torch-aclnn config --cflags --libs)
  PATH="$(torch-aclnn config --bindir):$PATH" npu-smi info
"""

_INFO = """\
Show what is installed, which engine answers on the npu device, whether all of
it fits together, and the command that fixes it if not. torch and torch_npu are
imported in a process of their own, so that this works where they do not import.
The exit code is 0 if all is well, 1 if not.

example:
  torch-aclnn info --json > info.json
"""

_CHECK = f"""\
Check the operators on this machine's npu device against their definitions, or
compare two reports. The check needs rich: pip install rich

{textwrap.fill(f"NAME is one of {', '.join(_OPERATORS)}.", 79)}

examples:
  torch-aclnn check --json report.json
  torch-aclnn check --quick
  torch-aclnn check --compare report.json other.json
"""


_LINK = f"""\
Put links to the engine where programs look for an installed CANN by its path:
into DIRECTORY, {INSTALLATION} by default. Nothing that is there is replaced,
but for such links. --remove removes them. What chooses between CANN
and the engine does not take them for a CANN.

example:
  sudo "$(which torch-aclnn)" link
"""


# Commands and options of earlier releases, each with the message that says what has replaced it.
_NOW = {("unlink",): "is now link --remove", ("check", "--soak"): "the check trains no network any more"}


def _dryrun(arguments: argparse.Namespace) -> int:
    from torch_aclnn.command.dryrun import command  # imported here, because the other commands do not need what it imports

    return command.run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *program_of(arguments)], locations.environment_of_programs())


def _env(_: argparse.Namespace) -> int:
    # Written as bytes, because a path is not always text.
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode("\n".join(locations.shell_commands()) + "\n"))
    return 0


def _link(arguments: argparse.Namespace) -> int:
    try:
        change = links.remove if arguments.remove else links.add
        print("\n".join(map(str, change(arguments.directory.absolute()))))
    except OSError as error:
        raise SystemExit(f"torch-aclnn {arguments.command}: {error}") from None
    return 0


def _config(arguments: argparse.Namespace) -> int:
    lines = locations.config({option for option in locations.OPTIONS if getattr(arguments, option)})
    if not lines:
        arguments.parser.error(f"expected at least one of {', '.join(f'--{option}' for option in locations.OPTIONS)}")
    print("\n".join(lines))
    return 0


def _check(arguments: argparse.Namespace) -> int:
    if arguments.compare:
        return compare(*arguments.compare)
    if importlib.util.find_spec("rich") is None:
        raise SystemExit('torch-aclnn check: the package rich is not installed: pip install "torch_aclnn[check]", or pip install rich')
    modes = arguments.mode or (QUICK_MODES if arguments.quick else MODES)
    return check.run(arguments.operator or _OPERATORS, modes, arguments.json, arguments.quick)


def _parser() -> Parser:
    parser = Parser(prog="torch-aclnn", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("--version", action="version", version=f"torch-aclnn {own_version()}")
    commands = parser.add_commands()
    run = add_program(commands, "run", PYTHONS, help="run a Python program on the host engine", description=_RUN, epilog=_RUN_EXAMPLES)
    run.set_defaults(action=_run)
    coverage.add_parser(commands)
    debug.add_parser(commands)
    dryrun.add_parser(commands, _dryrun)

    env = commands.add_parser("env", help="print shell commands that let programs find the engine", description=_ENV)
    env.set_defaults(action=_env)

    linking = commands.add_parser("link", help="put the engine where programs look for CANN by its path", description=_LINK)
    linking.add_argument("directory", nargs="?", type=Path, default=INSTALLATION, metavar="DIRECTORY", help="the folder of an installation")
    linking.add_argument("--remove", action="store_true", help="undo that")
    linking.set_defaults(action=_link)

    config = commands.add_parser("config", help="print where headers, libraries and programs are", description=_CONFIG)
    for option, help in locations.OPTIONS.items():
        config.add_argument(f"--{option}", action="store_true", help=help)
    config.set_defaults(action=_config, parser=config)

    information = commands.add_parser("info", help="show what is installed, and whether it fits together", description=_INFO)
    information.add_argument("--json", action="store_true", help="print a JSON object instead")
    information.set_defaults(action=lambda arguments: info.show(as_json=arguments.json, not_built=arguments.not_built))

    trace.add_parser(commands)

    checking = commands.add_parser("check", help="check the operators on this machine's npu device", description=_CHECK)
    checking.add_argument("--operator", action="append", choices=_OPERATORS, metavar="NAME", help="only this one; may be repeated")
    checking.add_argument("--mode", action="append", type=int, choices=MODES, help="only this TASK_QUEUE_ENABLE; may be repeated")
    checking.add_argument("--json", type=writable, metavar="FILE", help="write all that was found, to be sent in")
    checking.add_argument("--quick", action="store_true", help="one mode, and no layers of the sizes of networks")
    checking.add_argument("--compare", nargs=2, type=Path, metavar="FILE", help="check nothing; print what differs between two reports")
    checking.set_defaults(action=_check)
    return parser


def main(not_built: str | None = None) -> int:
    """Run the command line with the process's arguments and return its exit code.

    Args:
        not_built: why the package cannot be used though it is found; only ``info`` then does its work.

    """
    return quiet(lambda: _main(not_built))


def _main(not_built: str | None) -> int:
    arguments = parse(sys.argv[1:])
    if not_built is not None and arguments.command != "info":
        raise SystemExit(f"torch-aclnn {arguments.command}: {not_built}")
    arguments.not_built = not_built
    result: int = arguments.action(arguments)
    return result


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return what the arguments ask for: the function ``action`` takes it."""
    parser = _parser()
    if (former := tuple(arguments[:1])) in _NOW or (former := tuple(arguments[:2])) in _NOW:
        parser.error(f"{' '.join(former)}: {_NOW[former]}")
    parsed = parser.parse_command(arguments)
    if parsed.command is None:
        parser.print_help(sys.stderr)
        parser.exit(USAGE_ERROR)
    return parsed
