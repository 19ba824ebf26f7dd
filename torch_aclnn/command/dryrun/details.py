"""The details below the first screen."""

from collections.abc import Iterable

from torch_aclnn.command.dryrun.fits import counted
from torch_aclnn.command.dryrun.screen import LINES_OF_PEAK, paragraph, row, size
from torch_aclnn.observation.report import Communication, Finding, Fits, LineRead, Memory, Report

_MOST = 15

_TITLES = {
    "reads": "the host reads from the NPU, and waits for it",
    "waits": "the host waits for the NPU",
    "uploads": "copies from the host",
    "float64": "casts from or to float64",
    "strided": "copies from or to memory that is not contiguous",
}


def details(report: Report) -> list[str]:
    """Return the lines."""
    lines: list[str] = []
    if report.memory is not None:
        lines += _alive(report.memory)
        lines += _entry_points(report.calls)
        for kind, title in _TITLES.items():
            lines += _findings(title, [one for one in report.findings if one.kind == kind])
        lines += _communication(report.communication)
    coverage = report.coverage
    lines += _names("operators that torch_npu hands to the CPU", coverage.handed_to_cpu)
    lines += _names("entry points missing, the call failed", coverage.missing_failed)
    replaced = coverage.missing_replaced.items()
    lines += _names("entry points missing, another was taken", [f"{name} {other}".rstrip() for name, other in replaced])
    lines += _names("operators called by name, and refused", coverage.refused)
    lines += _reads(report.value_reads)
    assumed = (line for what, count in report.assumed.items() for line in paragraph(f"{count} x {what}", "  "))
    lines += _block("assumed, since values or other ranks are not there", assumed)
    return lines + _sources(report.fits)


def _alive(memory: Memory) -> list[str]:
    moment = memory.at_the_first_failure or memory.peak
    if not moment:
        return []
    rows = [row(f"  {name}", size(count)) for name, count in moment.categories.items()]
    lines = _block("in use then, by category", rows) if len(rows) > LINES_OF_PEAK else []
    rest = {**moment.lines, **({"other lines": moment.other_lines} if moment.other_lines else {})}
    rows = [row(f"  {line}", size(count)) for line, count in rest.items()]
    lines += _block("in use then, except parameters, gradients and optimizer state, by line", rows)
    steps = (
        row(f"  step {number}: allocated for tensors {size(step.requested)}, reserved", size(step.reserved))
        for number, step in enumerate(memory.steps, 1)
    )
    lines += _block("peaks by step", steps)
    if memory.retries or memory.failures:
        text = f"the allocator gave back its cache {counted(memory.retries, 'time')}, and {counted(memory.failures, 'allocation')} failed"
        lines += ["", *paragraph(text)]
    return lines


def _entry_points(calls: list[dict[str, int]]) -> list[str]:
    if not calls:
        return []
    last = sorted(calls[-1].items(), key=lambda item: (-item[1], item[0]))
    return _block(f"launches in step {len(calls)}", (row(f"  {name}", str(count)) for name, count in last), len(last))


def _findings(title: str, found: list[Finding]) -> list[str]:
    lines = []
    for one in found:
        note = f" ({one.note})" if one.note else ""
        amount = f", {size(one.bytes)}" if one.bytes else ""
        lines.append(row(f"  {one.line or 'unknown'}: {one.what}{note}", f"{one.count} x{amount}"))
    return _block(title, lines)


def _communication(found: list[Communication]) -> list[str]:
    rows = (row(f"  step {one.step}, {one.ranks} ranks, {one.group}: {one.name}", f"{one.calls} x, {size(one.bytes)}") for one in found)
    return _block("collectives", rows, len(found))


def _reads(reads: list[LineRead]) -> list[str]:
    rows = (row(f"  {one.line}", str(one.count)) for one in reads)
    return _block("reads of values that a dry run does not know, and that were zero", rows)


def _names(title: str, names: list[str]) -> list[str]:
    return _block(title, (f"  {name}" for name in names), len(names))


def _block(title: str, rows: Iterable[str], most: int = _MOST) -> list[str]:
    lines = list(rows)
    if not lines:
        return []
    left = len(lines) - most
    return ["", title, *lines[:most], *([f"  and {left} more (--json has all)"] if left > 0 else [])]


def _sources(fits: Fits) -> list[str]:
    lines = ["", "where the figures come from"]
    for part in fits.summands:
        lines += paragraph(f"{part.what}: {part.source}", "  ")
    return lines + paragraph(f"total: {fits.total_source}", "  ")
