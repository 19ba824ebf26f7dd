"""All that a run has found, its verdict, and the JSON document."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

from torch_aclnn.check.records import FAILED, LESS_EXACT, NOT_OFFERED, PASSED, Check

# The version of the document, which increases with each change that breaks programs that read it.
FORMAT = 6


@dataclass
class Report:
    """What the workers found.

    Attributes:
        operators: those that were asked for.
        modes: those of the task queue that were asked for.
        is_quick: whether less was asked for.
        total: how many checks are expected, as far as it is known.
        seconds: how long the run took.
        interrupted: whether Ctrl-C ended it.

    """

    operators: Sequence[str]
    modes: Sequence[int]
    is_quick: bool = False
    machine: dict[str, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    total: int = 0
    seconds: float = 0.0
    interrupted: bool = False

    def take(self, values: dict[str, Any]) -> None:
        """Add one object of a worker to the report."""
        if "total" in values:
            self.total += values["total"]
        elif "machine" in values:
            self.machine = values["machine"]
        else:
            self.checks.append(Check(**values))

    @property
    def passed(self) -> bool:
        """Whether all checks were done and none failed."""
        is_whole = not self.interrupted and 0 < self.total == len(self.checks)
        return is_whole and all(check.status != FAILED for check in self.checks)

    def verdict(self) -> str:
        """Return the last line of the output."""
        counts = Counter(check.status for check in self.checks)
        others = ((LESS_EXACT, LESS_EXACT), (NOT_OFFERED, "not offered by this product"))
        besides = "".join(f", {counts[status]} {words}" for status, words in others if counts[status])
        if self.interrupted:
            return f"interrupted: {counts[PASSED]} checks passed{besides}, {counts[FAILED]} failed until then"
        if self.passed:
            return f"passed: {counts[PASSED]} checks{besides}, in {self.seconds:.0f} s"
        return f"failed: {counts[FAILED]} of {sum(counts.values())} checks{besides}, in {self.seconds:.0f} s"

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "format": FORMAT,
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "operators": list(self.operators),
            "modes": list(self.modes),
            "quick": self.is_quick,
            "machine": self.machine,
            "verdict": self.verdict(),
            "passed": self.passed,
            "seconds": round(self.seconds, 1),
            "checks": [asdict(check) for check in self.checks],
        }
