"""What ``torch-aclnn dryrun --time`` adds: how long the last step would take."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from torch_aclnn.command.dryrun.screen import paragraph, row
from torch_aclnn.observation.report import Observed, Report
from torch_aclnn.timing import launches, trace_file
from torch_aclnn.timing.chip import Chip
from torch_aclnn.timing.estimate import NoStep, estimate, summary
from torch_aclnn.timing.pipeline import pipeline_of
from torch_aclnn.timing.result import Estimate
from torch_aclnn.timing.stages import Program, simulate_stages
from torch_aclnn.timing.timeline import Timeline


def estimated(observed: Observed, directory: Path, chip: Chip, timeline: Path | None) -> Estimate | None:
    """Return the estimate of the last step, and write its timeline; None if the program did not come so far."""
    trace = directory / f"{observed.process}.trace"
    if observed.end != "steps" or not trace.exists():
        return None
    try:
        found, drawn = estimate(trace, chip, observed.groups)
    except NoStep:
        return None
    if timeline is not None:
        trace_file.write({"": drawn}, timeline, found.card)
    return found


def of_ranks(reports: list[Report], directory: Path, chip: Chip, file: Path | None) -> list[Report]:
    """Return the reports. If all stages of a pipeline were run, their times are those of stages that wait for each other.

    Args:
        reports: of the ranks of ``--ranks``.
        directory: has the traces of the processes that were run.
        chip: what runs them.
        file: receives the timelines of the ranks that differ and of such stages, if it is given.

    """
    drawn: dict[int | None, Timeline] = {}
    known = {report.rank: report for report in reports if report.time is not None}
    for first in known.values():
        ranks = first.groups.get("pipeline", [])
        if len(ranks) > 1 and first.rank == ranks[0] and all(rank in known for rank in ranks):
            stages = [known[rank] for rank in ranks]
            runs = [one if one.equal_to is None else known[one.equal_to] for one in stages]
            calls = {one: list(launches.read(directory / f"{one}.trace")) for one in {one.process for one in runs}}
            programs = [Program(calls[one.process], one.groups, one.rank or 0) for one in runs]
            for one, program, timeline in zip(stages, programs, simulate_stages(programs, chip), strict=True):
                alone = dataclasses.replace(pipeline_of(program.calls, len(ranks)), bubbles=0.0)
                known[one.rank] = dataclasses.replace(one, time=summary(timeline, chip, alone))
                drawn[one.rank] = timeline
    if file is not None:
        for rank, one in known.items():
            if rank not in drawn and one.equal_to is None:
                drawn[rank] = estimate(directory / f"{one.process}.trace", chip, one.groups)[1]
        trace_file.write({f"rank {rank}, ": drawn[rank] for rank in known if rank in drawn}, file, chip.name)
    return [known.get(report.rank, report) for report in reports]


def seconds(count: float) -> str:
    """Return a time as text, with a unit."""
    unit, name = next((pair for pair in ((1.0, "s"), (1e-3, "ms")) if abs(count) >= pair[0]), (1e-6, "us"))
    return f"{count / unit:.2f} {name}"


def section(report: Report) -> Iterator[str]:
    """Yield the lines of the report."""
    time = report.time
    if time is None:
        yield "TIME: not estimated, because no whole step was seen"
        return
    yield row("TIME of a step, estimated", f"{seconds(time.low)} to {seconds(time.high)}")
    yield from paragraph(f"on {time.card}; from shapes and public figures, not measured here", "  ")
    yield row("  in the middle", seconds(time.seconds))
    if time.tokens:
        yield row("  tokens a second of this process", f"{time.tokens / time.high:.0f} to {time.tokens / time.low:.0f}")
    yield row("  of the cube's peak, with recomputation", f"{time.utilisation:.0%}")
    for text, part in (("the host is busy", time.host), ("the device is idle", time.idle), ("it only communicates", time.exposed)):
        if part:
            yield row(f"  {text}", f"{seconds(part)} {part / time.seconds:4.0%}")
    if time.stages > 1:
        yield row(f"  waits for the other {time.stages - 1} stages", f"{seconds(time.bubbles)} {time.bubbles / time.seconds:4.0%}")
    yield row("  launches' time by bytes of unlike tensors alone", f"{time.by_default:.0%}")
    for kind in time.kinds:
        yield row(f"  {kind.name}, {kind.count} x", f"{seconds(kind.seconds)} {kind.share:4.0%}")
    for remark in time.remarks:
        yield from paragraph(remark, "  ")


def compared(report: Report) -> dict[str, float]:
    """Return the figures that ``--compare`` prints side by side."""
    time = report.time
    if time is None:
        return {}
    parts = {"  host": time.host, "  idle": time.idle, "  only communication": time.exposed, "  bubbles": time.bubbles}
    return {"a step": time.seconds} | parts | {f"  {kind.name}": kind.seconds for kind in time.kinds}
