"""The ``torch-aclnn`` command: run programs on the host engine, and report what is installed."""

import argparse
import importlib.util
import os
import shlex
import sys
from pathlib import Path

from torch_aclnn._operators import OPERATORS
from torch_aclnn.check import command as check
from torch_aclnn.check.records import MODES
from torch_aclnn.host import coverage, info
from torch_aclnn.host.cann import SEARCH_VARIABLES, TOOLKIT_VARIABLES
from torch_aclnn.host.engine import environment_with_engine, search_path
from torch_aclnn.host.paths import includedir, libdir

_OPERATORS = [operator.name for operator in OPERATORS]


def _python_arguments(command: str, arguments: argparse.Namespace) -> list[str]:
    if not arguments.python_arguments:
        raise SystemExit(f"torch-aclnn {command}: expected a script, -c or -m and its arguments")
    return list(arguments.python_arguments)


def _run(arguments: argparse.Namespace) -> int:
    python_arguments = _python_arguments("run", arguments)
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *python_arguments], environment_with_engine())


def _coverage(arguments: argparse.Namespace) -> int:
    return coverage.run(_python_arguments("coverage", arguments))


def _env(arguments: argparse.Namespace) -> int:
    print(f"unset {' '.join(SEARCH_VARIABLES)}")  # else torch_npu would find operators of an installed CANN
    for name, value in {"LD_LIBRARY_PATH": search_path(), **TOOLKIT_VARIABLES}.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _config(arguments: argparse.Namespace) -> int:
    print(includedir() if arguments.includedir else libdir())
    return 0


def _info(arguments: argparse.Namespace) -> int:
    return info.show()


def _check(arguments: argparse.Namespace) -> int:
    if importlib.util.find_spec("rich") is None:
        raise SystemExit('torch-aclnn check: the package rich is not installed: pip install "torch_aclnn[check]", or pip install rich')
    if arguments.json and not os.access(arguments.json.absolute().parent, os.W_OK):
        raise SystemExit(f"torch-aclnn check: --json: expected a file in a folder that can be written, got {arguments.json}")
    return check.run(arguments.operator or _OPERATORS, arguments.mode or MODES, arguments.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torch-aclnn", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    programs = (
        ("run", _run, "run a Python program under the host engine: torch-aclnn run train.py, run -m module, run -c code"),
        ("coverage", _coverage, "do the same, and list the entry points that the program used and those that it missed"),
    )
    for name, action, help in programs:
        # What follows belongs to Python, options too, so for these commands nothing begins an option.
        program = commands.add_parser(name, help=help, prefix_chars="\0", add_help=False)
        program.add_argument("python_arguments", nargs=argparse.REMAINDER, metavar="...", help="what would follow `python`")
        program.set_defaults(action=action)

    env = commands.add_parser("env", help='print what lets this shell\'s programs find the engine: eval "$(torch-aclnn env)"')
    env.set_defaults(action=_env)

    config = commands.add_parser("config", help="print where the C headers or libraries are")
    which = config.add_mutually_exclusive_group(required=True)
    which.add_argument("--includedir", action="store_true", help="for the compiler's -I")
    which.add_argument("--libdir", action="store_true", help="for the linker's -L and the loader's path")
    config.set_defaults(action=_config)

    information = commands.add_parser("info", help="show versions, the engine, and which entry points resolve")
    information.set_defaults(action=_info)

    checking = commands.add_parser("check", help="check the operators on this machine's npu device, and what they cost")
    checking.add_argument("--operator", action="append", choices=_OPERATORS, help="only this one; may be repeated")
    checking.add_argument("--mode", action="append", type=int, choices=MODES, help="only this TASK_QUEUE_ENABLE; may be repeated")
    checking.add_argument("--json", type=Path, metavar="FILE", help="write all that was found, to be sent in")
    checking.set_defaults(action=_check)
    return parser


def main() -> int:
    """Run the command line with the process's arguments and return its exit code."""
    arguments = _parser().parse_args()
    result: int = arguments.action(arguments)
    return result
