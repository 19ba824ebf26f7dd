"""The output of the command, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch_aclnn.check.records import FAILED, LESS_EXACT, NOT_OFFERED, PASSED, Check
from torch_aclnn.check.report import Report

if TYPE_CHECKING:  # the command line imports this module where rich is not installed
    from rich.console import Console
    from rich.table import Table

_MESSAGE_LINES = 10

_LAYERS = {
    "layer": "whole layers: largest error, in ulp of a result's largest value; of torch_npu's\n"
    "own gradient of the input its error, and by how much ours differs from it",
    "network": "whole layers of the sizes of networks, with the same columns",
}
_MEMORY = {"memory": "bytes kept alive between forward and backward", "queued": "bytes and blocks alive at most while 2000 calls are made"}


def print_report(console: Console, report: Report) -> None:
    """Print what was checked, what failed, and the verdict in the last line."""
    _print_machine(console, report)
    if any(check.check == "values" for check in report.checks):
        console.print(_errors(report))
    for check, title in _LAYERS.items():
        if of_layers := [row for row in report.checks if row.check == check]:
            console.print(_layers(title, of_layers))
    if features := [check for check in report.checks if check.case and check.check not in _LAYERS]:
        console.print(_features(features, report.modes))
    for check, title in _MEMORY.items():
        if kept := [row for row in report.checks if row.check == check and row.bytes]:
            console.print(_memory(title, kept))
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
        _print(console, f"CANN {machine['cann']}, kernels {machine['kernels']}, driver {machine['driver']}")


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
        passed = "may differ" if any(check.detail for check in repeats) else "same bits"
        table.add_row(operator, dtype, *map(_worst, values), _status(repeats, passed))
    return table


def _worst(checks: Sequence[Check]) -> str:
    errors = [check.error_ulp for check in checks if check.error_ulp is not None]
    return _status(checks, f"{max(errors):.2f}" if errors and max(errors) > 0 else "exact")


def _status(checks: Sequence[Check], passed: str) -> str:
    statuses = {check.status for check in checks}
    if FAILED in statuses:
        return "[red]FAILED[/red]"
    return passed if statuses & {PASSED, LESS_EXACT} else "not offered" if NOT_OFFERED in statuses else "-"


def _layers(title: str, checks: Sequence[Check]) -> Table:
    modes = list(dict.fromkeys(check.mode for check in checks))
    table = _table(title, "layer", "dtype", *_modes(modes), "theirs", "apart")
    for case, dtype in dict.fromkeys((check.case, check.dtype) for check in checks):
        of_row = [check for check in checks if (check.case, check.dtype) == (case, dtype)]
        compared = next((check for check in of_row if check.difference_ulp is not None), of_row[0])
        values = [_worst([check for check in of_row if check.mode == mode]) for mode in modes]
        table.add_row(case, dtype, *values, _ulp(compared.torchs_ulp), _ulp(compared.difference_ulp))
    return table


def _ulp(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _features(checks: Sequence[Check], modes: Sequence[int]) -> Table:
    table = _table("what else a training meets", "what", *_modes(modes), "found")
    for case in dict.fromkeys(check.case for check in checks):
        of_case = [check for check in checks if check.case == case]
        values = [_status([check for check in of_case if check.mode == mode], "passed") for mode in modes]
        table.add_row(case, *values, next((check.detail for check in of_case if check.detail), ""))
    return table


def _memory(title: str, checks: Sequence[Check]) -> Table:
    """Return a row for each operator, with the largest values of all modes."""
    counted = checks[0].blocks is not None
    table = _table(title, "operator", "ours", "torch's own", *(("our blocks", "torch's blocks") if counted else ()))
    for operator in dict.fromkeys(check.operator for check in checks):
        of_row = [check for check in checks if check.operator == operator]
        columns = (
            *zip(*(check.bytes or () for check in of_row), strict=True),
            *zip(*(check.blocks or () for check in of_row), strict=True),
        )
        table.add_row(operator, *(f"{max(column):,}" for column in columns))
    return table


def _print_problems(console: Console, checks: Sequence[Check]) -> None:
    for check in checks:
        if check.status in (FAILED, LESS_EXACT):
            words = (check.check, check.operator, check.case, check.dtype, check.layout)
            _print(console, f"{check.status}: {' '.join(filter(None, words))}, mode {check.mode}")
            for line in (check.message or "").splitlines()[:_MESSAGE_LINES]:
                _print(console, f"    {line}")
    not_offered: dict[tuple[str | None, ...], str] = {}
    for check in (check for check in checks if check.status == NOT_OFFERED and (check.dtype or check.case)):
        what = (check.case,) if check.case and check.check not in _LAYERS else (check.operator, check.dtype)
        not_offered.setdefault(what, check.message or "")
    for names, message in not_offered.items():
        _print(console, f"not offered: {' '.join(map(str, names))}: {message.partition(chr(10))[0]}")
