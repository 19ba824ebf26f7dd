"""The parser of the package's command lines."""

import argparse
from typing import Any, NoReturn

USAGE_ERROR = 2


class Parser(argparse.ArgumentParser):
    """Reports an error of use in one line, and prints descriptions and examples as they are written."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Help)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Print the message and where there is more, and end with code 2."""
        self.exit(USAGE_ERROR, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=22, width=79)
