"""The committed lists: passed.txt, the files that pass, causes.tsv, why tests of the others do not, and figures.tsv, how many there are."""

import csv
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .causes import cause
from .records import FAILURES, Record

COLUMNS = ("outcome", "reason", "tests")
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


@dataclass
class Lists:
    """Both lists in a folder. passed.txt only grows; causes.tsv follows the records, and keeps the reasons, which people write."""

    folder: Path
    passed: set[str] = field(default_factory=set)
    causes: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)  # the outcome and reason of each test, by file and name

    def __post_init__(self) -> None:
        if (path := self.folder / "passed.txt").exists():
            self.passed = set(_files(path.read_text()))
        if (path := self.folder / "causes.tsv").exists():
            with path.open(newline="") as file:
                for row in csv.DictReader(file, delimiter="\t"):
                    for name, test in _tests(row["tests"]):
                        self.causes[name, test] = (row["outcome"], row["reason"])

    def lost(self, records: Mapping[str, Record]) -> list[str]:
        """Return the tests that fail and are not listed, and the listed files of which no test passes any more."""
        failing = [(file, test) for file, record in records.items() for test in record.failures()]
        empty = [(file, "no test passes") for file, record in records.items() if file in self.passed and not record.counts()["passed"]]
        return sorted(f"{file}: {test}" for file, test in {*failing, *empty} - self.causes.keys())

    def update(self, records: Mapping[str, Record]) -> None:
        """Add the files that pass, and replace what is known of the tests of the files that ran. A new failure's own line is its reason."""
        self.passed |= {file for file, record in records.items() if record.passed}
        new = {
            (file, test): (failure.outcome, self.causes.get((file, test), ("", cause(failure.message)))[1])
            for file, record in records.items()
            for test, failure in (record.failures().items() if file not in self.passed else ())
        }
        self.causes = new | {key: known for key, known in self.causes.items() if key[0] not in records}

    def write_figures(self, records: Mapping[str, Record]) -> None:
        """Write the figures of a run of all files."""
        text = "".join(f"{name}\t{number}\n" for name, number in figures(records).items())
        (self.folder / "figures.tsv").write_text(text)

    def write(self) -> None:
        (self.folder / "passed.txt").write_text(_text(self.passed))
        rows: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for test, known in sorted(self.causes.items()):
            rows.setdefault(known, []).append(test)
        with (self.folder / "causes.tsv").open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerows([COLUMNS, *sorted((*known, " ".join(_words(tests))) for known, tests in rows.items())])


def _words(tests: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a word for each test: file:class.test, without the file or the class that the word before has, too."""
    before: tuple[str, str] = ("", "")
    for file, test in tests:
        group, dot, name = test.rpartition(".")
        if dot and (file, group) == before:
            yield dot + name
        else:
            yield f"{'' if file == before[0] else _quoted(file)}:{test}"
        before = file, group


def _tests(text: str) -> Iterator[tuple[str, str]]:
    """Yield the file and the test of each of such words."""
    file = group = ""
    for word in text.split():
        name, colon, test = word.partition(":")
        if colon:
            file = _unquoted(name) or file
            group = test.rpartition(".")[0]
        yield file, test if colon else group + word


def _text(files: Iterable[str]) -> str:
    """Return files by folder, without `test_` and the ending."""
    words: list[str] = []
    folder = None
    for path in sorted(map(Path, files)):
        if path.parent != folder:
            words.append(f"{(folder := path.parent)}:")
        words.append(_quoted(path.stem.removeprefix("test_")))
    return textwrap.fill(" ".join(words), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def _files(text: str) -> Iterator[str]:
    """Yield the files of such a text."""
    folder = Path()
    for word in text.split():
        if word.endswith(":"):
            folder = Path(word[:-1])
        else:
            yield str(folder / f"test_{_unquoted(word)}.py")


def _quoted(file: str) -> str:
    return file.replace(" ", "%20")  # some names have a space


def _unquoted(word: str) -> str:
    return word.replace("%20", " ")
