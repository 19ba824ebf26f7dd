"""The committed list of what passes: passed.tsv, with a row for all cases of a function or module.

The columns are the engine (TORCH_ACLNN_HOST_MODE=float64 is `float64`), the minor versions of torch and the entry of PyTorch's tables. Each
further cell has whose function it is, how many samples pass, of how many, the data types and the checks, with a + those that are made of
noncontiguous tensors, too. One version of torch is complete; another has rows where it has other samples.
"""

import itertools
import re
from collections import defaultdict
from pathlib import Path

import pytest
import torch

UPDATE = "--opinfo-update"
LISTED = "2.13"
"""The minor version of torch whose list is complete."""

MINOR = ".".join(torch.__version__.split(".")[:2])
"""The one that runs."""

PATH = Path(__file__).with_name("passed.tsv")

# The numbers of each case by its name, and those of all cases by engine and version.
Counts = dict[str, tuple[int, int]]
Lists = dict[tuple[str, str], Counts]


class PassedList:
    """For each case how many samples passed, of how many. It only grows: no option lowers a number or removes a case."""

    def __init__(self, path: Path, engine: str, update: bool, minor: str = LISTED) -> None:
        self.path, self.update, self.own = path, update, (engine, minor)
        lists = _read(path)
        self.counts = lists[self.own]
        self.general = lists[engine, LISTED]

    def compare(self, case: object, passed: int, total: int) -> None:
        """Fail unless the case is listed with these numbers, or may be added."""
        listed = self.counts.get(str(case), self.general.get(str(case)))
        if listed == (passed, total):
            return
        grew = str(case) not in self.counts or passed >= self.counts[str(case)][0]
        if grew and self.update:
            self.counts[str(case)] = (passed, total)
            return
        was = "no such case is listed" if listed is None else f"{listed[0]} of {listed[1]} are listed"
        advice = f"; add it with: pytest tests/opinfo {UPDATE}" if grew else ""
        place = f"{self.path.name} for {self.own[0]}, torch {self.own[1]}"
        pytest.fail(f"{case}: {passed} of {total} samples pass, but {was} in {place}{advice}", pytrace=False)

    def write(self) -> None:
        """Add to the file, to which another process may have added its cases."""
        lists = _read(self.path)
        lists[self.own] |= self.counts
        self.path.write_text("".join("\t".join(row) + "\n" for row in _rows(lists)))


def _read(path: Path) -> Lists:
    lists: Lists = defaultdict(dict)
    for line in path.read_text().splitlines():
        engine, minors, entry, *cells = line.split("\t")
        for by, samples, dtypes, checks in map(str.split, cells):
            passed, total = map(int, samples.split("/"))
            checks = re.sub(r"(\w+)\+", r"\1,noncontiguous_\1", checks)
            for minor, *case in itertools.product(minors.split(), by.split(","), [entry], dtypes.split(","), checks.split(",")):
                lists[engine, minor]["-".join(case)] = (passed, total)
    return lists


def _rows(lists: Lists) -> list[list[str]]:
    """Return the rows, whose cells have as many cases as have all but one part alike: the checks, then the data types, and so on."""
    parts: set[tuple[tuple[str, ...], ...]] = set()
    for list_of, counts in lists.items():
        for case, (passed, total) in counts.items():
            by, entry, dtype, check = case.split("-")
            parts.add(tuple((part,) for part in (*list_of, entry, by, f"{passed}/{total}", dtype, check)))
    for place in (6, 5, 3, 1):
        joined = defaultdict(list)
        for part in parts:
            joined[(*part[:place], *part[place + 1 :])] += part[place]
        parts = {(*rest[:place], tuple(sorted(cells)), *rest[place:]) for rest, cells in joined.items()}
    rows = defaultdict(list)
    for (engine,), minors, (entry,), *cell in parts:
        rows[engine, " ".join(minors), entry].append(" ".join([*map(",".join, cell[:-1]), _joined(cell[-1])]))
    return sorted([*columns, *sorted(cells)] for columns, cells in rows.items())


def _joined(checks: tuple[str, ...]) -> str:
    plain = [check for check in checks if check.partition("noncontiguous_")[2] not in checks]
    return ",".join(check + "+" * (f"noncontiguous_{check}" in checks) for check in plain)
