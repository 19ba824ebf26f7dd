"""Properties that the extension relies on without a published source, and the checks that tell whether they hold on a machine."""

from collections.abc import Iterable
from dataclasses import dataclass

from torch_aclnn.check.records import FAILED, LESS_EXACT, PASSED, Check


@dataclass(frozen=True)
class Assumption:
    """A property without a source: a row that docs/evidence.md marks as assumed.

    Attributes:
        statement: what is relied on, in a sentence without a full stop.
        check: the name of the check that fails if it does not hold.
        operators: of that check; none means every operator.
        case: of that check, or None for every case.

    """

    statement: str
    check: str
    operators: tuple[str, ...] = ()
    case: str | None = None

    def answer(self, checks: Iterable[Check]) -> str:
        """Return "confirmed", "does not hold", or "not tried" if no such check was made or the machine does not offer it."""
        statuses = {check.status for check in checks if self._is_of(check)}
        return "does not hold" if FAILED in statuses else "confirmed" if statuses & {PASSED, LESS_EXACT} else "not tried"

    def _is_of(self, check: Check) -> bool:
        is_of_operator = not self.operators or check.operator in self.operators
        return self.check == check.check and is_of_operator and self.case in (None, check.case)


ASSUMPTIONS: tuple[Assumption, ...] = ()
