"""The parser of the package's command lines."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

USAGE_ERROR = 2
_CLOSED_PIPE = 141  # the exit code that a shell gives for a program that SIGPIPE ended
PYTHONS = ("script.py", "-m module", "-c code")


class Parser(argparse.ArgumentParser):
    """Reports an error of use in one line, and prints descriptions and examples as they are written."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Help)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Print the message and the command that prints help, and end with code 2."""
        self.exit(USAGE_ERROR, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def add_commands(self) -> Any:
        """Return the object to which commands are added."""
        self._commands = self.add_subparsers(title="commands", metavar="command", dest="command", parser_class=Parser)
        return self._commands

    def parse_command(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse the arguments. If the command runs a program, only those in front of the program are the command's."""
        command = self._commands.choices.get(arguments[0]) if arguments else None
        if command is None or command.get_default("program") is None:
            return self.parse_args(arguments)
        own = 1
        while own < len(arguments) and (option := command._option_string_actions.get(arguments[own].split("=")[0])):
            own += 1 if "=" in arguments[own] else 1 + (option.nargs if isinstance(option.nargs, int) else 1)
        return argparse.Namespace(**{**vars(self.parse_args(arguments[:own])), "program": list(arguments[own:])})


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=22, width=79)


def add_program(commands: Any, name: str, programs: Sequence[str], **options: Any) -> Parser:
    """Add a command that runs a program, which stands behind the command's options; it has its parser as ``parser``."""
    prefix = f"torch-aclnn {name} [options]"
    usage = "\n       ".join(f"{prefix} {program} [arguments]" for program in programs)
    parser: Parser = commands.add_parser(name, usage=usage, **options)
    parser.set_defaults(parser=parser, program=[])
    return parser


def program_of(arguments: argparse.Namespace) -> list[str]:
    """Return the program and its arguments, which have to be there."""
    if not arguments.program:
        arguments.parser.error(f"expected {'a program, ' * (arguments.command == 'debug')}a script, -c or -m and its arguments")
    program: list[str] = arguments.program
    return program


def writable(text: str) -> Path:
    """Parse an argument that names a file to write."""
    path = Path(text).absolute()
    if not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"expected a file in a folder that can be written, got {text}")
    return path


def quiet(action: Callable[[], int]) -> int:
    """Run the command and return its exit code, without a traceback where the reader of its output, such as ``head``, has ended."""
    try:
        try:
            return action()
        finally:  # after `--help` too, which ends in SystemExit
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # because Python flushes the stream at its end
        return _CLOSED_PIPE
