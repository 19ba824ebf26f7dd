"""The tables and conclusions that benchmarks.kernels prints."""

import math
from collections.abc import Callable, Iterable

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.figures import Earlier, Figures, by_group, geometric_mean, large, reliable, slower_than_peer
from benchmarks.machine import DOUBTFUL_SHARE

CALLS_ATEN, DOUBTFUL = "*", "?"
# The columns of a console from which tables have all their columns.
WIDE = 100
# How many of the cases in which a peer is faster are listed.
WORST = 10
# The exit status of a program that Ctrl-C ended.
INTERRUPTED = 130


def make_console(stderr: bool = False) -> Console:
    """Return a console that does not wrap tables after 80 columns when it writes to a file."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=180)


def make_table(first: str, columns: Iterable[str], title: str) -> Table:
    """Return a table whose columns after the first are right-aligned, without padding that would narrow the first."""
    table = Table(first, title=title, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, justify="right")
    return table


def number(value: float | None) -> str:
    """Return three significant digits without an exponent, or a dash for nothing."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def ratio(value: float | None) -> str:
    """Return a ratio, red where it is a loss."""
    text = f"{value:.2f}" if value is not None and not math.isnan(value) else "-"
    return f"[red]{text}[/red]" if value is not None and value < 1 else text


def print_disturbance(console: Console, share: float) -> None:
    """Warn if other programs ran while something was timed."""
    if share > DOUBTFUL_SHARE:
        console.print(f"[red]doubtful[/red]: other programs took {share:.0%} of the processors meanwhile; repeat this on an idle machine")


def report_end(console: Console, error: BaseException) -> int:
    """Print why a measurement ended early, and return the exit status."""
    interrupted = isinstance(error, KeyboardInterrupt)
    console.print("interrupted" if interrupted else f"[red]{error}[/red]")
    return INTERRUPTED if interrupted else 1


def print_times(console: Console, cases: list[Figures], copy_gb_per_s: float, earlier: Earlier | None) -> None:
    """Print milliseconds and ratios per case, with geometric means per group and over all."""
    with_ideal = console.width >= WIDE  # the ratio to the ideal is always a column
    times = ["ours", "ATen", "inductor", *(["ideal"] if with_ideal else [])]
    columns = [*times, "peer /\nours", "ours /\nideal", *(["old /\nnew"] if earlier else [])]
    table = make_table("case", columns, title="milliseconds per call, and two ratios")

    def means(of: list[Figures]) -> list[str]:
        chosen = reliable(of)
        speedups = [ratio(geometric_mean(_known(earlier.speedup, chosen)))] if earlier else []
        distance = geometric_mean(case.against_ideal(copy_gb_per_s) for case in chosen)
        return [*[""] * len(times), ratio(geometric_mean(case.against_peer for case in chosen)), number(distance), *speedups]

    for group, members in by_group(cases).items():
        table.add_row(group, style="bold")
        for case in members:
            table.add_row(*_cells(case, copy_gb_per_s, with_ideal, earlier))
        table.add_row("geometric mean", *means(members), end_section=True)
    table.add_row("all: geometric mean", *means(cases), style="bold")
    console.print(table)
    if any(case.inductor_calls_aten for case in cases):
        console.print(f"{CALLS_ATEN} inductor generates no loop for it, and calls ATen's operator, which returns a new tensor")
    if any(case.doubtful for case in cases):
        console.print(f"{DOUBTFUL} doubtful: other programs ran meanwhile, so means and conclusions leave it out")


def _cells(case: Figures, copy_gb_per_s: float, with_ideal: bool, earlier: Earlier | None) -> list[str]:
    inductor = number(case.inductor_ms) + CALLS_ATEN * case.inductor_calls_aten
    times = [number(case.ours_ms), number(case.aten_ms), inductor, *([number(case.ideal_ms(copy_gb_per_s))] if with_ideal else [])]
    speedups = [ratio(earlier.speedup(case))] if earlier else []
    against_peer = ratio(case.against_peer) + DOUBTFUL * case.doubtful
    return [case.label, *times, against_peer, number(case.against_ideal(copy_gb_per_s)), *speedups]


def _known(value: Callable[[Figures], float | None], cases: Iterable[Figures]) -> list[float]:
    return [found for case in cases if (found := value(case)) is not None]


def print_conclusions(console: Console, cases: list[Figures], copy_gb_per_s: float, earlier: Earlier | None) -> None:
    """Print how far from the ideal the large cases are, where a peer is faster, and what changed."""
    console.print(f"ideal: the bytes that must move, at copy_'s {copy_gb_per_s:.1f} GB/s in this run")
    cases = reliable(cases)
    if not cases:
        console.print("[red]no conclusions[/red]: all cases are doubtful; repeat this on an idle machine")
        return
    if by_memory := large(cases):
        worst = max(by_memory, key=lambda case: case.against_ideal(copy_gb_per_s))
        mean = geometric_mean(case.against_ideal(copy_gb_per_s) for case in by_memory)
        console.print(
            f"from 1 MiB on (cases: {len(by_memory)}) ours / ideal is {mean:.2f} in the geometric mean, "
            f"{worst.against_ideal(copy_gb_per_s):.2f} at worst ({worst.name})"
        )
    slower = slower_than_peer(cases)
    console.print(f"ahead of the best peer: {len(cases) - len(slower)} of {len(cases)} cases ({1 - len(slower) / len(cases):.1%})")
    for case in slower[:WORST]:
        console.print(f"[red]slower than its best peer[/red]: {case.name}, {1 / case.against_peer:.2f} times its time")
    if len(slower) > WORST:
        console.print(f"and {len(slower) - WORST} others, by less")
    if earlier:
        known = _known(earlier.speedup, cases)
        console.print(
            f"against the earlier run: old / new is {geometric_mean(known):.2f} in the geometric mean (cases: {len(known)}); "
            f"copy_ went at {earlier.copy_gb_per_s:.1f} GB/s then"
        )
