"""Time per call: alternating rounds of batched calls, and their median."""

import statistics
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import torch

# Long enough that reading the clock does not count, and that an interruption of the machine spoils one round of many.
ROUND_SECONDS = 2e-3
# Unless the first is ahead of all others by this factor, all are measured again, with so many times as many rounds: the noise of a shared
# machine is of that size. The second figures count, whichever are better.
CLOSE, LONGER = 1.25, 3
COPY_BYTES = 100 * 2**20


def seconds_per_call(call: Callable[[], Any], count: int, finish: Callable[[], Any] | None = None) -> float:
    """Call so many times, then `finish` (wait for a device), and divide."""
    start = perf_counter()
    for _ in range(count):
        call()
    if finish is not None:
        finish()
    return (perf_counter() - start) / count


def batch_size(call: Callable[[], Any]) -> int:
    """Return how many calls make a round."""
    call()
    count = 1
    while seconds_per_call(call, count) * count < ROUND_SECONDS:
        count *= 2
    return count


def alternate(
    calls: Sequence[Callable[[], Any]], counts: Sequence[int], rounds: int, finish: Callable[[], Any] | None = None
) -> list[float]:
    """Return the median seconds of each, taken in turns (A, B, C, A, B, C, ...) so that a slow moment of the machine meets all.

    A round begins with a call that does not count, so that none pays for what the one before left in the caches.
    """
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(1 + rounds):
        for taken, call, count in zip(seconds, calls, counts, strict=True):
            call()
            taken.append(seconds_per_call(call, count, finish))
    return [statistics.median(taken[1:]) for taken in seconds]  # the first round warms up


def compare(calls: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Return the median seconds of each; unless the first is far ahead of the others, of a second and longer measurement."""
    counts = [batch_size(call) for call in calls]
    first, *others = seconds = alternate(calls, counts, rounds)
    return alternate(calls, counts, LONGER * rounds) if min(others) < CLOSE * first else seconds


def make_copy(moved: int) -> Callable[[], Any]:
    """Return a copy_ that reads half of the bytes and writes the other half."""
    source = torch.ones(max(1, moved // 8))
    target = torch.zeros_like(source)
    return lambda: target.copy_(source)


class CopySpeed:
    """Speed of Tensor.copy_ at the size of the largest cases, sampled all through a run: what memory allows on this machine."""

    def __init__(self) -> None:
        self._copy = make_copy(2 * COPY_BYTES)
        self._seconds: list[float] = []
        self._copy()

    def sample(self, count: int = 3) -> None:
        """Time some copies."""
        self._seconds.extend(seconds_per_call(self._copy, 1) for _ in range(count))

    @property
    def gb_per_s(self) -> float:
        """Bytes read and written, in the median."""
        return 2 * COPY_BYTES / statistics.median(self._seconds) / 1e9
