"""The first screen of the report, of 80 columns."""

import shlex
import textwrap

from torch_aclnn.command.dryrun.fits import EVEN, counted, doubts, guessed, has_served, met_own_limit, refused
from torch_aclnn.command.dryrun.products import GIBIBYTE, MEBIBYTE
from torch_aclnn.observation.report import Memory, Moment, Report

WIDTH = 80
LINES_OF_PEAK = 5
_REFUSALS = 3
_MESSAGE = 400
_SIGNAL = 128  # the exit code of a program that a signal ended is this and the signal's number
_OWN_LIMIT = "a limit of this process refused it (set_per_process_memory_fraction, or ulimit -v)"

_ENDS = {
    "program": "the program ended by itself",
    "error": "the program failed",
    "interrupted": "the program was interrupted",
    "running": "the program was killed or ended without Python's knowledge",
    "nothing": "the program never used the npu device",
}


def size(count: int) -> str:
    """Return a number of bytes as text, with a unit."""
    for unit, name in ((GIBIBYTE, "GiB"), (MEBIBYTE, "MiB"), (1024, "KiB")):
        if abs(count) >= unit:
            return f"{count / unit:.2f} {name}"
    return f"{count} B"


def row(text: str, value: str) -> str:
    """Return a line with a value at its right end."""
    value = f" {value}"
    return f"{shortened(text, WIDTH - len(value)):<{WIDTH - len(value)}}{value}"


def shortened(text: str, width: int) -> str:
    """Return the text, or an ellipsis and its end if it is too long: the end of a path says more than its beginning."""
    if len(text) <= width:
        return text
    indent = text[: len(text) - len(text.lstrip())]
    return f"{indent}...{text[len(text) - width + len(indent) + 3 :]}"


def paragraph(text: str, indent: str = "") -> list[str]:
    """Return the text in lines that fit."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def first_screen(report: Report) -> list[str]:
    """Return the lines: the decision, memory, calls, communication."""
    presented = f" {_presented(report)}"
    title = textwrap.shorten(f"torch-aclnn dryrun: {program_of(report)}", WIDTH - len(presented), placeholder=" ...")
    lines = [f"{title:<{WIDTH - len(presented)}}{presented}", "-" * WIDTH]
    lines += _decision(report)
    if report.memory is not None:
        lines += ["", *_memory(report.memory, report), *_serving(report)]
        lines += ["", *_calls(report), *_communication(report)]
    return lines


def program_of(report: Report) -> str:
    """Return the program's command line as one line, also if the code behind `-c` has several."""
    return " ".join(shlex.join(report.program).split())


def verdict(report: Report) -> str:
    """Return the verdict, which stands in the first line and, without the number of steps, in the last."""
    return f"VERDICT: {report.fits.verdict}"


def _presented(report: Report) -> str:
    rank = f", rank {report.rank} of {report.world_size}" if report.world_size else ""
    return f"{report.product}{rank}"


def _decision(report: Report) -> list[str]:
    steps = counted(report.steps, "step")
    if has_served(report, report.coverage) and report.serving is not None:
        steps = f"no training, {counted(report.serving.forwards, 'forward')}"
    lines = [row(verdict(report), steps if report.dry else f"{steps}, computed")]
    lines += paragraph(_end(report), "  ")
    memory, failure = report.out_of_memory, report.failure
    if failure and not memory and report.end != "steps":
        lines += paragraph(textwrap.shorten(f"{failure.kind}: {failure.message}".rstrip(": "), _MESSAGE, placeholder=" ..."), "  ")
    if memory:
        where = f" at {memory.line}" if memory.line else ""
        failed = f"an allocation of {size(memory.bytes)} failed in step {memory.step}{where}"
        limit = f"; {_OWN_LIMIT}" if met_own_limit(memory) else ""
        lines += paragraph(f"{failed}; {size(memory.free)} were free{limit}", "  ")
    for name in refused(report.coverage)[:_REFUSALS]:
        lines += paragraph(f"refused or missing: {name}", "  ")
    if places := [*doubts(report), *guessed(report.assumed)]:
        lines += paragraph(f"values decided at {', '.join(places)}", "  ")
    if routers := [what.removeprefix(EVEN) for what in report.assumed if what.startswith(EVEN)]:
        lines += paragraph(f"experts are taken to be chosen evenly at {', '.join(routers)}; --expert-load has them chosen unevenly", "  ")
    return lines


def _end(report: Report) -> str:
    """Return how the run ended, unless that was after its steps."""
    if report.end == "steps" or has_served(report, report.coverage):
        return ""
    exit_code = report.coverage.exit_code
    if report.end == "nothing" and exit_code > _SIGNAL:
        return f"signal {exit_code - _SIGNAL} ended the program before its first step"
    if report.end == "nothing" and exit_code:
        return f"the program ended with exit code {exit_code} before it used the npu device"
    code = f" with exit code {exit_code}" if report.end == "program" and exit_code else ""
    end = f"{_ENDS[report.end]}{code} after {report.steps} of {counted(report.asked_steps, 'step')}"
    failure = report.failure if report.out_of_memory is None else None
    return f"{end}, at {failure.line}" if failure and failure.line else end


def _memory(memory: Memory, report: Report) -> list[str]:
    fits = report.fits
    lines = ["MEMORY"]
    lines += [row(f"  {part.what}", size(part.bytes)) for part in fits.summands]
    lines += [row("  needed", size(fits.needed)), row(f"  of {report.product}'s total", size(fits.total))]
    spare = fits.total - fits.needed
    lines += [row("  left" if spare >= 0 else "  too much", size(abs(spare)))]
    if memory.waiting:
        lines += [row("  more, if events of other streams are done only at the end of a step", size(memory.waiting))]
    if report.each_percent is not None:
        lines += [row("  more, for each percent of load above the experts' even one", size(report.each_percent))]
    cached = memory.reserved - memory.allocated
    lines += [row(f"  allocated at most {size(memory.allocated)}; cached or fragmented", size(cached))]
    failure = memory.at_the_first_failure
    if failure:
        lines += ["", row("IN USE AT THE FAILURE", size(failure.requested)), *_categories(failure)]
    elif memory.peak:
        lines += ["", *_peak(memory.peak)]
    return lines


def _serving(report: Report) -> list[str]:
    serving = report.serving
    if serving is None:
        return []
    lines = [
        "",
        row("FORWARDS without gradients", str(serving.forwards)),
        row("  in use at most in the first (prefill)", size(serving.first)),
    ]
    if serving.forwards > 1:
        lines += [row("  in use at most in a later one (decoding)", size(serving.later))]
        lines += [row("  left by earlier ones for the last (cache of keys and values)", size(serving.kept))]
    if serving.growth:
        room = max(report.fits.total - report.fits.needed, 0) // serving.growth
        lines += [row(f"  it grows by {size(serving.growth)} a forward; what is left is enough for", f"{room} more")]
    return lines


def _peak(peak: Moment) -> list[str]:
    node = f" ({peak.node})" if peak.node else ""
    place = [f"  at {shortened(peak.line + node, WIDTH - 5)}"] if peak.line else []
    return [row(f"PEAK in step {peak.step}, {peak.phase}", size(peak.requested)), *place, *_categories(peak)]


def _categories(moment: Moment) -> list[str]:
    return [row(f"  {name}", size(count)) for name, count in list(moment.categories.items())[:LINES_OF_PEAK]]


def _calls(report: Report) -> list[str]:
    calls, coverage = report.calls, report.coverage
    if not calls:
        return ["CALLS: no step was seen"]
    last = calls[-1]
    missing = len(coverage.missing_failed) + len(coverage.refused)
    conversions = sum(count for name, count in last.items() if "FormatCast" in name)
    lines = [
        row(f"CALLS in step {len(calls)}: launches {sum(last.values())}", counted(len(last), "entry point")),
        f"  operators on the CPU {len(coverage.handed_to_cpu)}, refused or missing {missing}, conversions of formats {conversions}",
    ]
    if report.no_findings:
        return lines + paragraph(f"no lines: {report.no_findings}", "  ")
    reads, waits, uploads, casts, strided = (_sum(report, kind) for kind in ("reads", "waits", "uploads", "float64", "strided"))
    return [
        *lines,
        f"  the host reads from the NPU {counted(reads[0], 'time')}, waits {counted(waits[0], 'time')}, "
        f"uploads {uploads[0]} ({size(uploads[1])})",
        f"  casts of float64 {casts[0]}, strided copies {strided[0]} ({size(strided[1])})",
    ]


def _sum(report: Report, kind: str) -> tuple[int, int]:
    found = [one for one in report.findings if one.kind == kind]
    return sum(one.count for one in found), sum(one.bytes for one in found)


def _communication(report: Report) -> list[str]:
    last = max((one.step for one in report.communication), default=0)
    found = [one for one in report.communication if one.step == last]
    if not found:
        return []
    total = sum(one.bytes for one in found)
    return ["", row(f"COMMUNICATION in step {last}: {counted(sum(one.calls for one in found), 'collective')}", size(total))]
