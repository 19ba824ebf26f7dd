"""The releases of torch_npu that the sources build against. setup.py reads this file too, before there is a package to import."""

import re

# The oldest release and the newest minor version. Each torch_npu requires the torch of its own minor version.
OLDEST, NEWEST = "2.7.1", "2.14"


def numbers(release: str) -> list[int]:
    """Return the numbers of a release, for comparisons: 2.7.1.post11 is [2, 7, 1, 11]."""
    return [int(number) for number in re.findall(r"\d+", release)]


def is_too_new(release: str) -> bool:
    """Return whether the release, of torch or of torch_npu, is of a later minor version than the newest torch_npu that is known."""
    return numbers(release)[:2] > numbers(NEWEST)


def refusal(torch: str) -> str:
    """Return the message for a release of torch that is too new, without what to install."""
    return f"torch {torch} is installed, but this release of torch_aclnn knows no torch_npu for it (the newest is {NEWEST})"
