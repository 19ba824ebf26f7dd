"""What the extension relies on although no published source says it, and which check tells whether it holds on a machine."""

from collections.abc import Iterable
from dataclasses import dataclass

from torch_aclnn.check.records import FAILED, PASSED, Check


@dataclass(frozen=True)
class Assumption:
    """A property without a source: a row that docs/evidence.md marks as assumed.

    Attributes:
        statement: what is relied on, in a sentence without a full stop.
        check: the name of the check that fails if it does not hold.
        operator: of that check, or None for every operator.
        case: of that check, or None for every case.

    """

    statement: str
    check: str
    operator: str | None = None
    case: str | None = None

    def answer(self, checks: Iterable[Check]) -> str:
        """Return "confirmed", "does not hold", or "not tried" if no such check was made or the machine does not offer it."""
        statuses = {check.status for check in checks if self._is_of(check)}
        return "does not hold" if FAILED in statuses else "confirmed" if PASSED in statuses else "not tried"

    def _is_of(self, check: Check) -> bool:
        wanted = ((self.check, check.check), (self.operator, check.operator), (self.case, check.case))
        return all(expected in (None, found) for expected, found in wanted)


ASSUMPTIONS: tuple[Assumption, ...] = ()
