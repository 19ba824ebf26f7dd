"""The committed lists of what passes: passed/default.txt and, for TORCH_ACLNN_HOST_FLOAT64=1, passed/float64.txt."""

from pathlib import Path

import pytest

UPDATE = "--opinfo-update"


class PassedList:
    """For each case how many samples passed, of how many. It only grows: no option lowers a number or removes a line."""

    def __init__(self, path: Path, update: bool) -> None:
        self.path, self.update = path, update
        lines = path.read_text().splitlines() if path.exists() else []
        self.counts = {case: tuple(map(int, count.split("/"))) for case, count in map(str.split, lines)}

    def compare(self, case: object, passed: int, total: int) -> None:
        """Fail unless the case is listed with these numbers, or may be added."""
        listed = self.counts.get(str(case))
        if listed == (passed, total):
            return
        grew = listed is None or passed >= listed[0]
        if grew and self.update:
            self.counts[str(case)] = (passed, total)
            return
        was = "no such case is listed" if listed is None else f"{listed[0]} of {listed[1]} are listed"
        advice = f"; add it with: pytest tests/opinfo {UPDATE}" if grew else ""
        pytest.fail(f"{case}: {passed} of {total} samples pass, but {was} in passed/{self.path.name}{advice}", pytrace=False)

    def write(self) -> None:
        self.path.write_text("".join(f"{case} {passed}/{total}\n" for case, (passed, total) in sorted(self.counts.items())))
