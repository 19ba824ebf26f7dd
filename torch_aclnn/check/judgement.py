"""When an error is a failure: limits are the engine's accuracy, torch_npu's own on the same device, and what op-plugin's tests allow.

The engine's accuracy is no promise of a device: a right one may sum in float16, or take a statistic by other steps.
"""

from dataclasses import dataclass

import torch
from torch_aclnn.check.records import FAILED, LESS_EXACT, PASSED

# What op-plugin's tests of the same operators allow, as a part of a value (docs/check.md names the tests).
ALLOWED = {torch.float32: 1e-4, torch.float16: 1e-3, torch.bfloat16: 1e-2}
ALLOWED_OF_STATISTICS = 1e-2

# How many times torch_npu's own error ours may be. On the engine two right orders of one sum are apart by up to 10 (the pooling of PSPNet).
# Float32 that was computed in HF32 or float16, which would be a mistake of ours, is off by more than 1000 times.
_TIMES_THEIRS = 16.0

# No test of these operators allows more than this part of a value, so beyond it torch_npu's own is wrong too and excuses nothing.
_WRONG = 0.1


@dataclass(frozen=True)
class Deviation:
    """How far a result is from the exact one, and what it is judged by.

    Attributes:
        ulp: the largest error, in units in the last place.
        limit: the largest that passes without a question, in the same units.
        share: the largest error, as a part of what was summed or of a result's largest value.
        allowed: the largest share that op-plugin's tests allow; 0 where they have no such test.
        theirs: the largest error of torch_npu's own on the same device, in the units of `ulp`, or None if there is none.

    """

    ulp: float
    limit: float
    share: float
    allowed: float
    theirs: float | None

    @property
    def status(self) -> str:
        """PASSED, LESS_EXACT or FAILED."""
        if self.ulp <= self.limit:
            return PASSED
        is_explained = self.share <= self.allowed if self.theirs is None else self.ulp <= _TIMES_THEIRS * self.theirs
        return LESS_EXACT if is_explained and self.share <= _WRONG else FAILED

    @property
    def message(self) -> str | None:
        """What is wrong, or None if it passed."""
        if self.status == PASSED:
            return None
        if self.theirs is None:
            by = f"op-plugin's tests allow {self.allowed:g} of a value, not {self.share:.2g}"
        else:
            by = f"torch_npu's own has {self.theirs:.3g}"
        return f"an error of {self.ulp:.3g} ulp where the engine has at most {self.limit:g}, and {by}"

    @property
    def severity(self) -> tuple[int, float]:
        """The key that orders the results of one check by how bad they are."""
        return (PASSED, LESS_EXACT, FAILED).index(self.status), self.ulp / self.limit
