"""A picture of the figures: the speed of each case, the smallest first, below the roof that copy_ sets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.figures import Figures, by_group, geometric_mean, reliable
from benchmarks.machine import summary

# Okabe and Ito's colours, which colour-blind people can distinguish; so can everyone by the marker's shape. The number is
# the side of the middle of its case on which the marker is drawn, so that equal speeds do not hide each other.
CONTENDERS: tuple[tuple[str, str, str, int, Callable[[Figures], float | None]], ...] = (
    ("ours", "#0072B2", "o", -1, lambda case: case.ours_ms),
    ("inductor", "#009E73", "^", 0, lambda case: case.inductor_ms),
    ("ATen", "#E69F00", "s", 1, lambda case: case.aten_ms),
)
DOUBTFUL = "doubtful"


def draw(path: Path, cases: list[Figures], copy_gb_per_s: float, machine: dict[str, Any]) -> None:
    """Write a PNG with one panel per group of cases."""
    groups = by_group(cases)
    columns = min(2, len(groups))
    rows = -(-len(groups) // columns)
    size = (max(9, 6.6 * columns), 3.9 * rows + 1.6)
    figure, grid = plt.subplots(rows, columns, figsize=size, sharey=True, squeeze=False, layout="constrained")
    panels = grid.flatten()
    for axes, (name, members) in zip(panels, groups.items(), strict=False):
        _draw_panel(axes, name, sorted(members, key=lambda case: case.bytes), copy_gb_per_s)
    for axes in panels[len(groups) :]:
        axes.set_visible(False)
    figure.suptitle(
        f"Speed of the backward operators on CPU tensors (higher is better)\n{summary(machine)}", fontsize=12, x=0.01, ha="left"
    )
    figure.supxlabel("cases, by the bytes that must move: inputs read once, output written once")
    figure.supylabel("achieved speed: those bytes / time")
    legend = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(legend.values(), legend.keys(), loc="outside upper right", ncols=len(legend), frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_panel(axes: Axes, name: str, cases: list[Figures], copy_gb_per_s: float) -> None:
    distance = min(0.26, 0.02 * len(cases))  # of a case's width; few cases are wide
    for label, colour, marker, side, milliseconds in CONTENDERS:
        points = [
            (place + side * distance, case.bytes / ms / 1e6) for place, case in enumerate(cases) if (ms := milliseconds(case)) is not None
        ]
        if points:
            axes.scatter(*zip(*points, strict=True), c=colour, marker=marker, s=30, label=label, zorder=3)
    for place, case in enumerate(cases):
        if case.doubtful:
            axes.axvspan(place - 0.5, place + 0.5, color="#D55E00", alpha=0.15, linewidth=0, label=DOUBTFUL)
    axes.axhline(copy_gb_per_s, color="black", linewidth=1, linestyle="--", label=f"copy_: {copy_gb_per_s:.0f} GB/s")
    axes.set_title(f"{name}\n{_conclusion(cases)}", fontsize=11)
    axes.set(yscale="log", xlim=(-0.5, len(cases) - 0.5))
    axes.set_xticks(range(len(cases)), [_bytes(case.bytes) for case in cases], rotation=60, fontsize=10)
    axes.set_xticks([place + 0.5 for place in range(len(cases) - 1)], minor=True)
    axes.tick_params(axis="x", which="minor", length=0)
    axes.grid(True, axis="x", which="minor", alpha=0.3)  # between the cases
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} GB/s"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.margins(y=0.12)
    axes.grid(True, axis="y", which="major", alpha=0.3)


def _conclusion(cases: list[Figures]) -> str:
    chosen = reliable(cases)
    if not chosen:
        return "no mean: all cases are doubtful"
    without = "" if len(chosen) == len(cases) else f", without {len(cases) - len(chosen)} doubtful"
    return f"{geometric_mean(case.against_peer for case in chosen):.1f} times as fast as the best peer{without}"


def _bytes(value: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:g} B"
