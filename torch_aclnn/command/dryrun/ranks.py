"""The ranks of ``torch-aclnn dryrun --ranks``: a table of them, and the worst."""

import os
import sys
from pathlib import Path

from torch_aclnn.command.dryrun.fits import FITS, INCOMPLETE, REFUSED, TOO_LARGE, UNRELIABLE, USAGE
from torch_aclnn.command.dryrun.screen import paragraph, shortened, size
from torch_aclnn.loading import rank_alone
from torch_aclnn.observation.report import Report

_BY_SEVERITY = (FITS, UNRELIABLE, INCOMPLETE, USAGE, REFUSED, TOO_LARGE)
_KNOWN_BY = "Ranks of one row are equal: until their first backward they allocated, launched and sent the same. Only the first ran on."
_LINES_OF_OUTPUT = 40
_WHERE = 31  # the width of a column


def variables(rank: int, size: int) -> dict[str, str]:
    """Return the environment variables that a rank has in addition."""
    of_a_machine = os.environ.get("LOCAL_WORLD_SIZE", "")
    return rank_alone.variables(rank, size, *([int(of_a_machine)] if of_a_machine.isdecimal() else []))


def show_failure(report: Report, output: Path) -> None:
    """Print the last lines of a rank's output if the rank did not come to its end."""
    if report.end != "steps":
        lines = output.read_text(errors="replace").splitlines()[-_LINES_OF_OUTPUT:]
        print("\n".join([f"rank {report.rank} printed last:", *lines]), file=sys.stderr)


def worst(reports: list[Report]) -> Report:
    """Return the report of the rank that decides the verdict."""
    return max(reports, key=lambda one: (_BY_SEVERITY.index(one.fits.code), one.fits.needed))


def table(reports: list[Report]) -> list[str]:
    """Return a row for each rank that was run; the screen of the one that decides comes below."""
    equal: dict[int | None, list[int]] = {}
    for report in reports:
        equal.setdefault(report.rank if report.equal_to is None else report.equal_to, []).append(report.rank or 0)
    rows = [_row("rank", "stage", "code", "needed", "peak", "where")]
    rows += [_row(_ranges(equal[report.rank]), *_columns(report)) for report in reports if report.equal_to is None]
    known_by = paragraph(_KNOWN_BY) if len(equal) < len(reports) else []
    return [f"RANKS of {reports[0].world_size}", *rows, *known_by, "", f"rank {worst(reports).rank} decides:", ""]


def _columns(report: Report) -> tuple[str, str, str, str, str]:
    stage, code, memory = "" if report.stage is None else str(report.stage), str(report.fits.code), report.memory
    if memory is None or memory.peak is None:
        return stage, code, "", "", shortened(report.fits.verdict, _WHERE)
    phase = f"{memory.peak.phase}, "
    where = phase + shortened(memory.peak.line, _WHERE - len(phase))
    return stage, code, size(report.fits.needed), size(memory.allocated), where


def _row(ranks: str, stage: str, code: str, needed: str, peak: str, where: str) -> str:
    return f"{shortened(ranks, 12):<12}{stage:>5}{code:>6}{needed:>12}{peak:>12}  {where}"


def _ranges(numbers: list[int]) -> str:
    """Return the numbers, which are in order, as ``0-2, 5``."""
    known = set(numbers)
    begins = [n for n in numbers if n - 1 not in known]
    ends = [n for n in numbers if n + 1 not in known]
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(begins, ends, strict=True))
