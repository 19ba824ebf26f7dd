"""The committed lists of what passes: passed/default/ and, for TORCH_ACLNN_HOST_FLOAT64=1, passed/float64/, a file an operator."""

from pathlib import Path

import pytest

UPDATE = "--opinfo-update"


class PassedList:
    """For each case of an operator how many samples passed, of how many. It only grows: no option lowers a number or removes a line."""

    def __init__(self, folder: Path, update: bool) -> None:
        self.folder, self.update = folder, update
        self.counts: dict[str, dict[str, tuple[int, int]]] = {}
        for path in sorted(folder.glob("*.txt")):
            lines = [line.split() for line in path.read_text().splitlines()]
            self.counts[path.stem] = {case: (int(passed), int(total)) for case, (passed, total) in ((c, n.split("/")) for c, n in lines)}

    def compare(self, operator: str, case: object, passed: int, total: int) -> None:
        """Fail unless the case is listed with these numbers, or may be added."""
        counts = self.counts.setdefault(operator, {})
        listed = counts.get(str(case))
        if listed == (passed, total):
            return
        grew = listed is None or passed >= listed[0]
        if grew and self.update:
            counts[str(case)] = (passed, total)
            return
        was = "no such case is listed" if listed is None else f"{listed[0]} of {listed[1]} are listed"
        advice = f"; add it with: pytest tests/opinfo {UPDATE}" if grew else ""
        place = f"passed/{self.folder.name}/{operator}.txt"
        pytest.fail(f"{case}: {passed} of {total} samples pass, but {was} in {place}{advice}", pytrace=False)

    def write(self) -> None:
        for operator, counts in self.counts.items():
            lines = [f"{case} {passed}/{total}\n" for case, (passed, total) in sorted(counts.items())]
            (self.folder / f"{operator}.txt").write_text("".join(lines))
