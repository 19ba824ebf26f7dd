"""What became of the tests of a file, read from the lines that its process wrote."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

FAILURES = ("failed", "crashed", "timed out")


@dataclass
class Outcome:
    """What became of a test: one of FAILURES, "passed" or "skipped", and the text that says why."""

    outcome: str
    message: str = ""


@dataclass
class Record:
    """The tests of one file."""

    tests: dict[str, Outcome] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    running: str | None = None
    finished: bool = False

    def counts(self) -> Counter[str]:
        return Counter(outcome.outcome for outcome in self.tests.values())

    def failures(self) -> dict[str, Outcome]:
        return {test: outcome for test, outcome in self.tests.items() if outcome.outcome in FAILURES}

    @property
    def passed(self) -> bool:
        """Whether tests passed and none failed."""
        return self.finished and not self.failures() and self.counts()["passed"] > 0


def write_line(path: Path, **line: object) -> None:
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def read_record(path: Path) -> Record:
    """Read a file of lines, of which the last may be cut off; a missing file is one without lines."""
    record = Record()
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if "tests" in line:
            record.listed += [test for test in line["tests"] if test not in record.listed]
        elif "start" in line:
            record.running = line["start"]
        elif "end" in line:
            record.tests[line["end"]] = Outcome(line["outcome"], line["message"])
            record.running = None
        else:
            record.finished = True
    if record.finished:
        _give_out_of_classes(record)
    return record


def _give_out_of_classes(record: Record) -> None:
    """Give the tests that never started what became of the setUpClass before them."""
    for holder, outcome in list(record.tests.items()):
        found = re.fullmatch(r"setUp(?:Class|Module) \((?:__main__\.?)?(.*)\)", holder)
        if found is None:
            continue
        del record.tests[holder]
        for test in record.listed:
            if test.startswith(found[1]):
                record.tests.setdefault(test, outcome)
