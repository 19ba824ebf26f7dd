"""Time per call: alternating rounds of batched calls, and their median."""

import statistics
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import torch

# Long enough to make reading the clock negligible, and short enough that an interruption of the machine spoils one round of many.
ROUND_SECONDS = 2e-3
# Unless the first is ahead of all others by the factor CLOSE, all are measured again with LONGER times as many rounds: a shared
# machine's noise is of that size. The second figures are always the ones reported.
CLOSE, LONGER = 1.25, 3
COPY_BYTES = 100 * 2**20


def seconds_per_call(call: Callable[[], Any], count: int, finish: Callable[[], Any] | None = None) -> float:
    """Time `count` calls and `finish`, which waits for a device, and divide."""
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

    A round begins with a call that is not counted, so that the state in which the one before left the caches does not matter.
    """
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(1 + rounds):
        for taken, call, count in zip(seconds, calls, counts, strict=True):
            call()
            taken.append(seconds_per_call(call, count, finish))
    return [statistics.median(taken[1:]) for taken in seconds]  # without the first round, which warms up


def compare(calls: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Return the median seconds of each, from a second, longer measurement unless the first is far ahead of the others."""
    counts = [batch_size(call) for call in calls]
    first, *others = seconds = alternate(calls, counts, rounds)
    return alternate(calls, counts, LONGER * rounds) if min(others) < CLOSE * first else seconds


def make_copy(moved: int) -> Callable[[], Any]:
    """Return a copy_ that reads half of the bytes and writes the other half."""
    source = torch.ones(max(1, moved // 8))
    target = torch.zeros_like(source)
    return lambda: target.copy_(source)


class CopySpeed:
    """The speed of Tensor.copy_ at the size of the largest cases, sampled during the whole run, as the limit set by memory."""

    def __init__(self) -> None:
        self._copy = make_copy(2 * COPY_BYTES)
        self._seconds: list[float] = []
        self._copy()

    def sample(self, count: int = 3) -> None:
        """Time some copies."""
        self._seconds.extend(seconds_per_call(self._copy, 1) for _ in range(count))

    @property
    def gb_per_s(self) -> float:
        """The median of the bytes read and written per second."""
        return 2 * COPY_BYTES / statistics.median(self._seconds) / 1e9
