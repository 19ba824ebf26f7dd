"""What the command prints, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch_aclnn.check.records import FAILED, NOT_OFFERED, PASSED, Check, Cost, Launches, of_kind
from torch_aclnn.check.report import Report

if TYPE_CHECKING:  # the command line imports this without rich
    from rich.console import Console
    from rich.table import Table

_MESSAGE_LINES = 10


def print_report(console: Console, report: Report) -> None:
    """Print what was checked, what failed, and the verdict in the last line."""
    _print_machine(console, report)
    if any(check.check == "values" for check in report.checks):
        console.print(_errors(report))
    if kept := [check for check in report.checks if check.bytes]:
        console.print(_memory(kept))
    if costs := list(of_kind(report.records, Cost)):
        console.print(_costs(costs, report.modes))
    for launches in of_kind(report.records, Launches):
        console.print(_launches(launches))
    _print_problems(console, report.checks)
    verdict = report.verdict()
    _print(console, f"verdict  {verdict}", style="bold green" if report.passed else "bold red")


def _print(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def _print_machine(console: Console, report: Report) -> None:
    if machine := report.machine:
        versions = ", ".join(f"{name} {machine[name]}" for name in ("torch", "torch_npu", "torch_aclnn"))
        _print(console, f"Python {machine['python']}, {versions}")
        _print(console, f"engine {machine['engine']}, SoC {machine['soc']}")


def _table(title: str, first: str, *others: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), min_width=len(title))
    table.add_column(first, no_wrap=True)
    for column in others:
        table.add_column(column, justify="left" if column == "dtype" else "right", no_wrap=True)
    return table


def _modes(modes: Sequence[int]) -> list[str]:
    return [f"mode {mode}" for mode in modes]


def _errors(report: Report) -> Table:
    table = _table(
        "largest error in ulp, over all layouts of memory, and whether repeats agree", "operator", "dtype", *_modes(report.modes), "repeats"
    )
    for operator, dtype in dict.fromkeys((c.operator, c.dtype) for c in report.checks if c.check == "values" and c.dtype):
        of_row = [check for check in report.checks if (check.operator, check.dtype) == (operator, dtype)]
        values = [[c for c in of_row if c.check == "values" and c.mode == mode] for mode in report.modes]
        repeats = [check for check in of_row if check.check == "determinism"]
        table.add_row(operator, dtype, *map(_worst, values), _status(repeats, "same bits"))
    return table


def _worst(checks: Sequence[Check]) -> str:
    errors = [check.error_ulp for check in checks if check.error_ulp is not None]
    return _status(checks, f"{max(errors):.2f}" if errors and max(errors) > 0 else "exact")


def _status(checks: Sequence[Check], passed: str) -> str:
    statuses = {check.status for check in checks}
    if FAILED in statuses:
        return "[red]FAILED[/red]"
    return passed if PASSED in statuses else "not offered" if NOT_OFFERED in statuses else "-"


def _memory(checks: Sequence[Check]) -> Table:
    table = _table("bytes kept alive between forward and backward", "forward of", "ours", "torch's own")
    for check in checks:
        assert check.bytes is not None
        table.add_row(check.operator, *(f"{count:,}" for count in check.bytes))
    return table


def _costs(costs: Sequence[Cost], modes: Sequence[int]) -> Table:
    table = _table("microseconds per call: ours/torch_npu's = ratio", "operator", *_modes(modes))
    for operator in dict.fromkeys(cost.operator for cost in costs):
        by_mode = {cost.mode: cost for cost in costs if cost.operator == operator}
        table.add_row(operator, *(_cost(by_mode.get(mode)) for mode in modes))
    return table


def _cost(cost: Cost | None) -> str:
    if cost is None:
        return "-"
    if cost.torchs_us is None:
        return f"{cost.ours_us:.1f}/-"
    return f"{cost.ours_us:.1f}/{cost.torchs_us:.1f} = {cost.ours_us / cost.torchs_us:.2f}"


def _launches(launches: Launches) -> Table:
    table = _table("a training step of a small CNN", "its modules", launches.counted)
    table.add_row("torch's own", str(launches.torchs))
    table.add_row("torch_aclnn.convert(model, batch_norm=False)", str(launches.converted))
    table.add_row("torch_aclnn.convert(model, batch_norm=True)", str(launches.converted_with_batch_norm or "-"))
    return table


def _print_problems(console: Console, checks: Sequence[Check]) -> None:
    for check in checks:
        if check.status == FAILED:
            words = (check.check, check.operator, check.dtype, check.layout)
            _print(console, f"failed: {' '.join(filter(None, words))}, mode {check.mode}")
            for line in (check.message or "").splitlines()[:_MESSAGE_LINES]:
                _print(console, f"    {line}")
    not_offered = {(c.operator, c.dtype): c.message or "" for c in checks if c.status == NOT_OFFERED and c.dtype}
    for (operator, dtype), message in not_offered.items():
        _print(console, f"not offered: {operator} {dtype}: {message.partition(chr(10))[0]}")
