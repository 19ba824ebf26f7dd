"""Running a case: each sample must pass, but an excluded one must fail, in the way its exclusion says."""

import re

import pytest
import torch

from opinfo import checks
from opinfo.entries import ENGINE, Case
from opinfo.exclusions import EXCLUSIONS
from opinfo.samples import Sample, samples


def run(case: Case) -> tuple[int, int]:
    """Return how many samples passed, of how many; fail if one did not do what is expected of it."""
    surprises, passed, all_samples = [], 0, samples(case)
    for sample in all_samples:
        failed = _failure(case, sample)
        exclusion = next((e for e in EXCLUSIONS if e.covers(case, sample, ENGINE)), None)
        if exclusion is None:
            passed += 1
            if failed is not None:
                surprises.append(f"{sample.summary}\n    {failed}")
        elif failed is None:
            surprises.append(f"{sample.summary}\n    passes, but is excluded for {exclusion.cause!r}")
        elif not re.search(exclusion.fails_with, failed):
            surprises.append(f"{sample.summary}\n    is excluded for failing with {exclusion.fails_with!r}, but fails with {failed}")
    if surprises:
        pytest.fail("\n".join([f"{case}: {len(surprises)} of {len(all_samples)} samples:", *surprises]), pytrace=False)
    return passed, len(all_samples)


def _failure(case: Case, sample: Sample) -> str | None:
    """Check one sample and return what was wrong, if anything."""
    try:
        getattr(checks, case.check)(case, sample)
        torch.npu.synchronize()
    except Exception as error:
        return f"{type(error).__name__}: {error}{_left_on_the_stream()}"
    return None


def _left_on_the_stream() -> str:
    """Return the failure that the next synchronisation reports, so that it does not meet the next sample."""
    try:
        torch.npu.synchronize()
    except RuntimeError as error:
        return f"; then {error}"
    return ""
