"""A picture of the figures: achieved speed over size, below the roof that copy_ sets."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.figures import Figures, by_group, geometric_mean
from benchmarks.machine import summary

# Okabe and Ito's colours, which colour-blind people can distinguish; so can everyone by the marker's shape.
CONTENDERS: tuple[tuple[str, str, str, Callable[[Figures], float | None]], ...] = (
    ("ATen", "#E69F00", "s", lambda case: case.aten_ms),
    ("inductor", "#009E73", "^", lambda case: case.inductor_ms),
    ("ours", "#0072B2", "o", lambda case: case.ours_ms),
)


def draw(path: Path, cases: list[Figures], copy_gb_per_s: float, machine: dict[str, Any]) -> None:
    """Write a PNG with one panel per group of cases."""
    groups = by_group(cases)
    columns = min(3, len(groups))
    rows = -(-len(groups) // columns)
    size = (max(9, 4.6 * columns), 3.7 * rows + 1.6)
    figure, grid = plt.subplots(rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained")
    panels = grid.flatten()
    for axes, (name, members) in zip(panels, groups.items(), strict=False):
        _draw_panel(axes, name, members, copy_gb_per_s)
    # Whole powers of ten, so that each axis has labels however few the cases are.
    sizes = [case.bytes for case in cases]
    panels[0].set_xlim(10 ** math.floor(math.log10(min(sizes) / 1.5)), 10 ** math.ceil(math.log10(max(sizes) * 1.5)))
    for axes in panels[len(groups) :]:
        axes.set_visible(False)
    figure.suptitle(f"Speed of the backward operators on CPU tensors (higher is better)\n{summary(machine)}", fontsize=12)
    figure.supxlabel("bytes that must move: inputs read once, output written once")
    figure.supylabel("achieved speed: those bytes / time")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper right", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _draw_panel(axes: Axes, name: str, cases: list[Figures], copy_gb_per_s: float) -> None:
    for label, colour, marker, milliseconds in CONTENDERS:
        measured = [(case.bytes, ms) for case in cases if (ms := milliseconds(case)) is not None]
        if measured:
            x, y = [moved for moved, _ in measured], [moved / ms / 1e6 for moved, ms in measured]
            axes.scatter(x, y, c=colour, marker=marker, s=42, label=label, edgecolors="white", linewidths=0.6, zorder=3)
    for case in cases:  # a faint line from ours to the best peer shows which markers belong together
        axes.plot([case.bytes] * 2, [case.bytes / ms / 1e6 for ms in (case.ours_ms, case.peer_ms)], color="grey", alpha=0.5, linewidth=0.8)
    axes.axhline(copy_gb_per_s, color="black", linewidth=1, linestyle="--")
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(f"speed of copy_: {copy_gb_per_s:.0f} GB/s", (0.02, copy_gb_per_s), (0, 4), fontsize=9, **place)
    mean = geometric_mean(case.against_peer for case in cases)
    axes.set_title(f"{name}\n{mean:.1f} times as fast as the best peer", fontsize=11)
    axes.set(xscale="log", yscale="log")
    for axis, text in ((axes.xaxis, _bytes), (axes.yaxis, lambda value, _: f"{value:g} GB/s")):
        axis.set_major_formatter(FuncFormatter(text))
        axis.set_minor_formatter(NullFormatter())
    axes.margins(y=0.12)
    axes.grid(True, which="major", alpha=0.3)


def _bytes(value: float, _: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"
