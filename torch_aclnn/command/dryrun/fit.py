"""``torch-aclnn dryrun --fit``: the largest values of a program's arguments with which it fits."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from torch_aclnn.command.dryrun.fits import FITS, TOO_LARGE, UNRELIABLE
from torch_aclnn.command.dryrun.placeholders import Placeholder, filled, largest
from torch_aclnn.command.dryrun.screen import size
from torch_aclnn.observation.report import Report

_COLUMN = 14
_LINES_OF_OUTPUT = 40


class _Stopped(Exception):
    """A run whose verdict is neither "fits" nor "does not fit"."""


class Search:
    """Runs the program with one set of values after the other, and prints a line for each.

    Args:
        arguments: those of the command.
        run: runs a program whose output goes to a file, and returns the report.
        output: that file.

    """

    def __init__(self, arguments: argparse.Namespace, run: Callable[[list[str], Path], Report], output: Path) -> None:
        self._arguments, self._run, self._output = arguments, run, output
        self._rows: list[dict[str, Any]] = []
        self._reports: list[Report] = []

    def all(self) -> int:
        """Search, print the table and what was found, and return the exit code."""
        first, *second = self._arguments.fit
        names = [one.name for one in (*second, first)]
        print(_row([*names, "needed", "left"]), flush=True)
        found: list[tuple[dict[str, int], int | None]] = []
        try:
            for others in _others(second):
                limit = found[-1][1] if found else first.values[-1]  # with a larger second value, the largest first value never grows
                values = [value for value in first.values if limit is not None and value <= limit]
                found.append((others, largest(values, partial(self._needed, others, first.name), self._arguments.total.bytes)))
        except _Stopped as stopped:
            print(f"\n{stopped}")
            return self._reports[-1].fits.code
        self._write(found)
        print()
        for others, value in found:
            where = "".join(f", with {name} {other}" for name, other in others.items())
            print(f"largest {first.name}: {'none fits' if value is None else value}{where}")
        print(f"of {size(self._arguments.total.bytes)}: {self._arguments.total.source}")
        return FITS if any(value is not None for _, value in found) else TOO_LARGE

    def _needed(self, others: dict[str, int], name: str, value: int) -> int | None:
        values = {**others, name: value}
        self._output.write_text("")
        report = self._run(filled(self._arguments.runs, values), self._output)
        self._reports.append(report)
        fits = report.fits
        if fits.code not in (FITS, TOO_LARGE, UNRELIABLE):
            print("\n".join(self._output.read_text(errors="replace").splitlines()[-_LINES_OF_OUTPUT:]), file=sys.stderr)
            raise _Stopped(f"VERDICT with {', '.join(f'{name} {value}' for name, value in values.items())}: {fits.verdict}")
        needed = None if fits.code == TOO_LARGE else fits.needed
        columns = [*map(str, values.values()), *([size(needed), size(fits.total - needed)] if needed else ["does not fit", ""])]
        print(_row(columns).rstrip(), *(["  sizes may have depended on values"] if fits.code == UNRELIABLE else []), flush=True)
        self._rows.append({"values": values, "code": fits.code, "needed": needed, "total": fits.total})
        return needed

    def _write(self, found: list[tuple[dict[str, int], int | None]]) -> None:
        if self._arguments.json is not None:
            name = self._arguments.fit[0].name
            document = {"rows": self._rows, "largest": [{**others, name: value} for others, value in found]}
            self._arguments.json.write_text(json.dumps(document, indent=1) + "\n")


def _row(columns: list[str]) -> str:
    return "".join(f"{column:>{_COLUMN}}" for column in columns)


def _others(placeholders: list[Placeholder]) -> Iterator[dict[str, int]]:
    if not placeholders:
        yield {}
    for one in placeholders:
        for value in one.few():
            yield {one.name: value}
