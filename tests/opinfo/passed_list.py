"""The committed lists of what passes: passed/default/ and, for TORCH_ACLNN_HOST_FLOAT64=1, passed/float64/, a file an operator.

They are of one minor version of torch. Where another one has other samples, its numbers are in a folder within: passed/default/2.10/.
"""

from pathlib import Path

import pytest
import torch

UPDATE = "--opinfo-update"
LISTED = "2.13"
"""The minor version of torch whose lists are complete."""

MINOR = ".".join(torch.__version__.split(".")[:2])
"""The one that runs."""

Counts = dict[str, dict[str, tuple[int, int]]]


class PassedList:
    """For each case of an operator how many samples passed, of how many. It only grows: no option lowers a number or removes a line."""

    def __init__(self, folder: Path, update: bool, minor: str = LISTED) -> None:
        self.folder = folder if minor == LISTED else folder / minor
        self.update = update
        self.counts = _read(self.folder)
        self.general = {} if minor == LISTED else _read(folder)

    def compare(self, operator: str, case: object, passed: int, total: int) -> None:
        """Fail unless the case is listed with these numbers, or may be added."""
        counts = self.counts.setdefault(operator, {})
        listed = counts.get(str(case), self.general.get(operator, {}).get(str(case)))
        if listed == (passed, total):
            return
        grew = str(case) not in counts or passed >= counts[str(case)][0]
        if grew and self.update:
            counts[str(case)] = (passed, total)
            return
        was = "no such case is listed" if listed is None else f"{listed[0]} of {listed[1]} are listed"
        advice = f"; add it with: pytest tests/opinfo {UPDATE}" if grew else ""
        place = Path("passed", *self.folder.parts[self.folder.parts.index("passed") + 1 :], f"{operator}.txt")
        pytest.fail(f"{case}: {passed} of {total} samples pass, but {was} in {place}{advice}", pytrace=False)

    def write(self) -> None:
        """Write the files of all operators that have cases."""
        for operator, counts in self.counts.items():
            if not counts:
                continue
            self.folder.mkdir(exist_ok=True)
            lines = [f"{case} {passed}/{total}\n" for case, (passed, total) in sorted(counts.items())]
            (self.folder / f"{operator}.txt").write_text("".join(lines))


def _read(folder: Path) -> Counts:
    counts: Counts = {}
    for path in sorted(folder.glob("*.txt")):
        lines = [line.split() for line in path.read_text().splitlines()]
        counts[path.stem] = {case: (int(passed), int(total)) for case, (passed, total) in ((c, n.split("/")) for c, n in lines)}
    return counts
