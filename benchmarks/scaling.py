"""How much faster more threads make us, compared with copy_, which shows what the memory gives."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from rich.console import Console

from benchmarks.case import Case
from benchmarks.figures import LARGE_BYTES, geometric_mean
from benchmarks.tables import make_table, number
from benchmarks.timing import batch_size, make_copy, seconds_per_call


@dataclass(frozen=True)
class Scaling:
    """Milliseconds of one case, and of a copy_ that moves as many bytes, with each number of threads."""

    name: str
    bytes: int
    threads: tuple[int, ...]
    ours_ms: tuple[float, ...]
    copy_ms: tuple[float, ...]

    @property
    def speedups(self) -> tuple[tuple[float, float], ...]:
        """One thread's time by that of each number of threads, ours and copy_'s."""
        return tuple((self.ours_ms[0] / ours, self.copy_ms[0] / copy) for ours, copy in zip(self.ours_ms, self.copy_ms, strict=True))


def measure(case: Case, threads: Sequence[int], rounds: int) -> Scaling:
    """Time both with each number of threads, in turns."""
    work = case.work()
    calls = (work.ours, make_copy(work.bytes))
    before = torch.get_num_threads()
    seconds: dict[tuple[int, int], list[float]] = {}
    try:
        torch.set_num_threads(threads[0])
        counts = [batch_size(call) for call in calls]
        for _ in range(rounds):
            for n in threads:
                torch.set_num_threads(n)
                for which, (call, count) in enumerate(zip(calls, counts, strict=True)):
                    call()  # wakes the threads
                    seconds.setdefault((n, which), []).append(seconds_per_call(call, count))
    finally:
        torch.set_num_threads(before)
    ours, copy = ([statistics.median(seconds[n, which]) * 1e3 for n in threads] for which in range(2))
    return Scaling(case.name, work.bytes, tuple(threads), tuple(ours), tuple(copy))


def print_scaling(console: Console, results: Sequence[Scaling]) -> None:
    """Print times with one thread, and the speed-up of both with each other number. Small cases have nothing to share out."""
    if not results:
        return
    columns = [f"{who}\n{n} threads" for n in results[0].threads[1:] for who in ("ours", "copy_")]
    table = make_table("case", ["ours, ms\n1 thread", "copy_, ms\n1 thread", *columns], title="speed-up by threads")
    for result in results:
        speedups = [f"{value:.2f}" for pair in result.speedups[1:] for value in pair]
        table.add_row(result.name, number(result.ours_ms[0]), number(result.copy_ms[0]), *speedups)
    large = [result for result in results if result.bytes >= LARGE_BYTES]
    pairs = range(1, len(results[0].threads))
    means = [geometric_mean(result.speedups[n][which] for result in large) for n in pairs for which in range(2)]
    table.add_section()
    table.add_row("geometric mean from 1 MiB on", "", "", *(number(mean) for mean in means), style="bold")
    console.print(table)
