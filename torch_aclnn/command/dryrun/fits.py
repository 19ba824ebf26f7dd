"""The decision: what a process needs of a device, and whether that is less than there is."""

from collections.abc import Iterable, Mapping

from torch_aclnn.command.dryrun.products import CONTEXT, HCCL_BUFFERS, OUTSIDE, Known
from torch_aclnn.observation.report import CoverageReport, Failure, Finding, Fits, Observed, OutOfMemory, Summand

FITS, TOO_LARGE, USAGE, REFUSED, UNRELIABLE, INCOMPLETE = 0, 1, 2, 3, 4, 5

_VERDICTS = {
    FITS: "fits",
    TOO_LARGE: "does not fit",
    USAGE: "not known, because the program refused its arguments",
    REFUSED: "an operator is refused or missing",
    UNRELIABLE: "unreliable: sizes may have depended on values",
    INCOMPLETE: "not known, because the run ended before its steps",
}
# The engine's message about a guessed size, which a line of the program follows.
_GUESSED = "a result whose size unknown values decide is taken for the largest: "
EVEN = "experts are chosen evenly: "
_NO_LINE = "a thread without Python"
_INTEGERS, _SIZES = "integers", "sizes depend on values"
_SINGLE = (1, 2, 4, 8)  # the sizes of single numbers, in bytes
_COUNT = 8  # the size of the number that counts a result's elements, in bytes


def summands(report: Observed, hccl_buffers: int) -> list[Summand]:
    """Return what is needed, part by part, each with its source; nothing if the device was not used."""
    if report.memory is None:
        return []
    communicators = report.communicators
    parts = [
        ("reserved by torch_npu's allocator", report.memory.reserved, "this run"),
        (f"HCCL's buffers, {counted(communicators, 'communicator')}", communicators * hccl_buffers, HCCL_BUFFERS),
        ("the process's context", CONTEXT.bytes, CONTEXT.source),
        ("allowance for what else is outside the allocator", OUTSIDE.bytes, OUTSIDE.source),
    ]
    if report.out_of_memory is not None and ended_by_memory(report):
        parts.insert(1, ("the allocation that failed", report.out_of_memory.bytes, "this run"))
    return [Summand(*part) for part in parts]


def decide(report: Observed, coverage: CoverageReport, places: list[str], total: Known, hccl_buffers: int) -> Fits:
    """Return the decision with its reasons; ``code`` is the command's exit code."""
    parts = summands(report, hccl_buffers)
    needed = sum(part.bytes for part in parts)
    code = _code(report, coverage, needed, total)
    if places and code in (FITS, TOO_LARGE):
        code = UNRELIABLE
    return Fits(code, _VERDICTS[code], needed, total.bytes, total.source, parts)


def _code(report: Observed, coverage: CoverageReport, needed: int, total: Known) -> int:
    if report.memory is None:
        return USAGE if coverage.exit_code == USAGE else INCOMPLETE
    if needed > total.bytes or ended_by_memory(report) or not report.memory.room:
        return TOO_LARGE
    if refused(coverage) or _is_refusal(report.failure):
        return REFUSED
    if report.end != "steps" and not has_served(report, coverage):
        return INCOMPLETE
    return UNRELIABLE if doubts(report) else FITS


def has_served(report: Observed, coverage: CoverageReport) -> bool:
    """Return whether a program that only runs forward has come to its end."""
    return report.serving is not None and report.end == "program" and coverage.exit_code == 0


def ended_by_memory(report: Observed) -> bool:
    """Return whether the program ended because an allocation failed for lack of device memory."""
    failed = report.out_of_memory
    return failed is not None and report.end != "steps" and not met_own_limit(failed)


def met_own_limit(failed: OutOfMemory) -> bool:
    """Return whether an allocation failed for the process's own limit, although the device had the memory."""
    return failed.bytes <= failed.free


def refused(coverage: CoverageReport) -> list[str]:
    """Return the names of the operators that the program asked for and this chip, or the engine, does not have."""
    return [*coverage.missing_failed, *coverage.refused]


def _is_refusal(failure: Failure | None) -> bool:
    return failure is not None and "aclnn" in failure.message


def guessed(assumed: Iterable[str]) -> list[str]:
    """Return the lines at which the size of a result was guessed."""
    return [what.removeprefix(_GUESSED) for what in assumed if what.startswith(_GUESSED)]


def with_lines(assumed: Mapping[str, int], findings: Iterable[Finding]) -> dict[str, int]:
    """Return what was assumed, with the lines of the last step that chose experts in place of the thread that launched them."""
    lines = ", ".join(sorted({one.line for one in findings if one.kind == "chooses"}))
    return {EVEN + lines if lines and what == EVEN + _NO_LINE else what: count for what, count in assumed.items()}


def doubts(report: Observed) -> list[str]:
    """Return the lines whose reads of values that a dry run does not know may have decided sizes.

    A line may read both known and unknown numbers, as one that counts words and takes the mean of a loss does: where
    single numbers were read, their size tells the two apart. A truth value decides whether something is done, not how large it is.
    """
    sizes: dict[str, set[int]] = {}
    for one in report.findings:
        size = one.bytes // one.count or _COUNT
        if one.kind == "reads" and (_SIZES in one.note or (_INTEGERS in one.note and size > 1)):
            sizes.setdefault(one.line, set()).add(size)
    unknown = [(read.line, read.bytes // read.count) for read in report.value_reads]
    return sorted({line for line, size in unknown if line in sizes and (size in sizes[line] or size not in _SINGLE)})


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
