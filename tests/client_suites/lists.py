"""The committed lists: passed.txt, the files that pass, causes.tsv, why tests of the others do not, and figures.tsv, how many there are."""

import csv
import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from .causes import cause
from .records import FAILURES, Record

COLUMNS = ("file", "outcome", "cause", "explanation", "tests")
WIDTH = 140


def figures(records: Mapping[str, Record]) -> dict[str, int]:
    """Return how many files and tests there are, and what became of them."""
    tests: Counter[str] = Counter()
    for record in records.values():
        tests += record.counts()
    passed = sum(record.passed for record in records.values())
    skipped = sum(not record.failures() and not record.passed for record in records.values())
    return {
        "files": len(records),
        "files that pass": passed,
        "files of which each test is skipped": skipped,
        "tests": tests.total(),
        **{f"tests {outcome}": tests[outcome] for outcome in ("passed", "skipped", *FAILURES)},
    }


class Lists:
    """Both lists in a folder. passed.txt only grows; causes.tsv follows the records, and keeps the explanations, which people write."""

    def __init__(self, folder: Path) -> None:
        self.passed_path, self.causes_path, self.figures_path = (folder / name for name in ("passed.txt", "causes.tsv", "figures.tsv"))
        self.passed = {word.replace("%20", " ") for word in self.passed_path.read_text().split()} if self.passed_path.exists() else set()
        self.rows: list[dict[str, str]] = []
        if self.causes_path.exists():
            with self.causes_path.open(newline="") as file:
                self.rows = list(csv.DictReader(file, delimiter="\t"))

    def lost(self, records: Mapping[str, Record]) -> list[str]:
        """Return the tests that fail and are not listed, and the listed files of which no test passes any more."""
        known = self._explanations()
        failing = [(file, test) for file, record in records.items() for test in record.failures()]
        empty = [(file, "no test passes") for file, record in records.items() if file in self.passed and not record.counts()["passed"]]
        return sorted(f"{file}: {test}" for file, test in {*failing, *empty} - known.keys())

    def update(self, records: Mapping[str, Record]) -> None:
        """Add the files that pass, and replace the rows of the files that ran."""
        self.passed |= {file for file, record in records.items() if record.passed}
        explanations = self._explanations()
        found: dict[tuple[str, ...], list[str]] = {}
        for file, record in records.items():
            for test, failure in record.failures().items() if file not in self.passed else ():
                key = (file, failure.outcome, cause(failure.message), explanations.get((file, test), ""))
                found.setdefault(key, []).append(test)
        new = [dict(zip(COLUMNS, (*key, " ".join(sorted(tests))), strict=True)) for key, tests in found.items()]
        self.rows = sorted(new + [row for row in self.rows if row["file"] not in records], key=lambda row: tuple(row.values()))

    def _explanations(self) -> dict[tuple[str, str], str]:
        return {(row["file"], test): row["explanation"] for row in self.rows for test in row["tests"].split()}

    def write_figures(self, records: Mapping[str, Record]) -> None:
        """Write the figures of a run of all files."""
        self.figures_path.write_text("".join(f"{name}\t{number}\n" for name, number in figures(records).items()))

    def write(self) -> None:
        words = " ".join(sorted(file.replace(" ", "%20") for file in self.passed))  # some names have a space
        self.passed_path.write_text(textwrap.fill(words, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n")
        with self.causes_path.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
