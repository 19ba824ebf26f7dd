"""Runs the program of ``torch-aclnn dryrun`` under the engine with an observer, and reports."""

import argparse
import contextlib
import dataclasses
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from torch_aclnn.command import child
from torch_aclnn.command.coverage import LOG_WARNINGS, Coverage
from torch_aclnn.command.dryrun import ranks, remedies
from torch_aclnn.command.dryrun.arguments import check
from torch_aclnn.command.dryrun.compare import compare
from torch_aclnn.command.dryrun.details import details
from torch_aclnn.command.dryrun.fit import Search
from torch_aclnn.command.dryrun.fits import EVEN, decide, ended_by_memory, guessed, with_lines
from torch_aclnn.command.dryrun.forks import Forks
from torch_aclnn.command.dryrun.products import CONTEXT
from torch_aclnn.command.dryrun.programs import problem_of_hook
from torch_aclnn.command.dryrun.screen import first_screen, verdict
from torch_aclnn.command.dryrun.times import estimated, of_ranks, section
from torch_aclnn.command.locations import environment_of_programs
from torch_aclnn.loading.hook_settings import OBSERVE, SETTINGS
from torch_aclnn.observation.report import Observed, Report, Settings, load, save

_ENOUGH = 16
_UNEVEN = 1.1  # the load of the first half of the experts, as a multiple of its even share


def run(arguments: argparse.Namespace) -> int:
    """Do what the arguments ask for and return the exit code."""
    check(arguments)
    if arguments.compare:
        return compare(*arguments.compare)
    problem = problem_of_hook(arguments.runs, environment_of_programs()) or _refusal_of(arguments.product)
    if problem:
        arguments.parser.error(problem)
    if arguments.fit:
        try:
            return _fit(arguments)
        except ChildProcessError as problem:
            arguments.parser.error(f"--fit: {problem}")
    if arguments.ranks:
        try:
            return _several(arguments)
        except ChildProcessError as problem:
            arguments.parser.error(f"--ranks: {problem}")
    report = _observed(arguments)
    report.each_percent = _of_each_percent(arguments, report)
    return _show(arguments, report, report, helps=remedies.lines(_with_more_memory(arguments, report)))


def _show(
    arguments: argparse.Namespace, report: Report, saved: Report | list[Report], table: Iterable[str] = (), helps: Iterable[str] = ()
) -> int:
    """Print the report between a table and what helps, save what is to be saved, and return the exit code."""
    times = ["", *section(report)] if arguments.time else []
    print("\n" + "\n".join([*table, *first_screen(report), *times, *details(report), *helps, "", verdict(report)]))
    if arguments.json is not None:
        save(saved, arguments.json)
    return report.fits.code


def _with_more_memory(arguments: argparse.Namespace, report: Report) -> Report:
    """Return the report of the program on a chip that has enough, if it ended for lack of memory."""
    if not ended_by_memory(report):
        return report
    whole = _observed(arguments, times=_ENOUGH, quiet=True)
    whole.fits = dataclasses.replace(whole.fits, total=report.fits.total)
    return whole


def _of_each_percent(arguments: argparse.Namespace, report: Report) -> int | None:
    """Return the bytes that each percent of uneven load of the experts adds to the peak, if the load was assumed to be even."""
    if arguments.expert_load is not None or report.end != "steps" or not any(what.startswith(EVEN) for what in report.assumed):
        return None
    asked = argparse.Namespace(**{**vars(arguments), "expert_load": _UNEVEN, "time": False})
    uneven = _observed(asked, times=_ENOUGH, quiet=True)
    if report.memory is None or uneven.memory is None or uneven.end != "steps":
        return None
    return round(abs(uneven.memory.allocated - report.memory.allocated) / (100 * (_UNEVEN - 1)))


def _observed(arguments: argparse.Namespace, times: int = 1, quiet: bool = False) -> Report:
    """Run the program with `times` times the chip's memory, and return the report."""
    with child.folder() as directory, open(os.devnull, "w") as nothing:
        _prepare(arguments, directory, None if quiet else arguments.snapshot)
        environment = _environment(arguments, directory) | {"TORCH_ACLNN_HOST_MEMORY": str(times * arguments.total.bytes)}
        exit_code = child.run([sys.executable, *arguments.runs], environment, output=nothing if quiet else None)
        return _collected(arguments, directory, directory, exit_code)


def _fit(arguments: argparse.Namespace) -> int:
    with child.folder() as directory:
        (directory / "findings").touch()
        environment = {name: value for name, value in _environment(arguments, directory).items() if name != OBSERVE}
        with Forks(arguments.runs, environment) as forks:

            def run(program: list[str], output: Path) -> Report:
                observed = Path(tempfile.mkdtemp(dir=directory))
                _prepare(arguments, observed)
                exit_code = forks.run(program, {OBSERVE: str(observed)}, output)
                return _collected(arguments, observed, directory, exit_code)

            return Search(arguments, run, directory / "output").all()


def _several(arguments: argparse.Namespace) -> int:
    with child.folder() as directory:
        reports = list(_of_ranks(arguments, directory))
        if arguments.time:
            reports = of_ranks(reports, directory, arguments.chip, arguments.timeline)
    return _show(arguments, ranks.worst(reports), reports, table=ranks.table(reports))


def _of_ranks(arguments: argparse.Namespace, directory: Path) -> Iterator[Report]:
    """Run the program as one rank after the other, and yield the reports; one that equals an earlier one is its copy."""
    environment = {name: value for name, value in _environment(arguments, directory).items() if name != OBSERVE}
    (directory / "findings").touch()
    (directory / "equals").mkdir()
    ran: dict[int, Report] = {}
    with Forks(arguments.runs, environment) as forks:
        for rank in arguments.ranks:
            arguments.rank = rank
            observed, output = directory / str(rank), directory / f"{rank}.output"
            observed.mkdir()
            _prepare(arguments, observed, equals=directory / "equals")
            code = forks.run(arguments.runs, {OBSERVE: str(observed), **ranks.variables(rank, arguments.world_size)}, output)
            report = _collected(arguments, observed, directory, code)
            if report.equal_to is None:
                ran[rank] = report = dataclasses.replace(report, rank=rank, world_size=arguments.world_size)
                ranks.show_failure(report, output)
            else:
                report = dataclasses.replace(ran[report.equal_to], rank=rank, equal_to=report.equal_to)
            yield report


def _prepare(arguments: argparse.Namespace, directory: Path, snapshot: Path | None = None, equals: Path | None = None) -> None:
    file, equal = (str(path) if path else None for path in (snapshot, equals))
    asked = Settings(arguments.steps, CONTEXT.bytes, arguments.hccl_buffers, file, arguments.rank or 0, arguments.time, equal)
    save(asked, directory / SETTINGS)
    (directory / "findings").touch()


def _collected(arguments: argparse.Namespace, directory: Path, counted: Path, exit_code: int) -> Report:
    """Return the report, made of the files that the observer and the engine have left in two directories."""
    coverage = Coverage()
    coverage.read(counted)
    assumed = Counter((counted / "findings").read_text().splitlines())
    observed = merged([load(Observed, path) for path in directory.glob("*.json") if path.name != SETTINGS])
    timeline = None if arguments.ranks else arguments.timeline
    time = estimated(observed, counted, arguments.chip, timeline) if arguments.time else None
    if observed.end == "nothing":
        observed.rank, observed.world_size = arguments.rank, arguments.world_size
    observed.product = observed.product or arguments.product
    document = coverage.document(exit_code)
    fits = decide(observed, document, guessed(assumed), arguments.total, arguments.hccl_buffers)
    asked: dict[str, Any] = {
        "program": arguments.program,
        "asked_steps": arguments.steps,
        "assumed": with_lines(assumed, observed.findings),
    }
    return Report(**vars(observed), **asked, coverage=document, fits=fits, time=time)


def merged(reports: list[Observed]) -> Observed:
    """Return the report of the process that trained; of several ranks that of the lowest."""
    return min(reports, key=lambda one: (-one.steps, one.memory is None, one.rank or 0), default=Observed())


def _environment(arguments: argparse.Namespace, directory: Path) -> dict[str, str]:
    environment = {
        "TASK_QUEUE_ENABLE": "0",  # so that a call runs on the line that makes it
        **environment_of_programs(),
        "TORCH_ACLNN_ENGINE": "host",
        "TORCH_ACLNN_HOST_COMPUTE": "0",
        "TORCH_ACLNN_HOST_SOC": arguments.product,
        "TORCH_ACLNN_HOST_MEMORY": str(arguments.total.bytes),
        OBSERVE: str(directory),
        "TORCH_ACLNN_HOST_COVERAGE": str(directory),
        "TORCH_ACLNN_HOST_FINDINGS": str(directory / "findings"),
        "ASCEND_GLOBAL_LOG_LEVEL": LOG_WARNINGS,
    }
    if arguments.time:
        environment["TORCH_ACLNN_HOST_TRACE"] = str(directory / "%p.trace")
    if arguments.expert_load is not None:
        environment["TORCH_ACLNN_HOST_EXPERT_LOAD"] = str(arguments.expert_load)
    if arguments.world_size is not None:
        environment |= {"RANK": str(arguments.rank), "WORLD_SIZE": str(arguments.world_size), "TORCH_ACLNN_HOST_RANK_ALONE": "1"}
    return environment


def _refusal_of(product: str) -> str | None:
    """Return why the engine does not present the chip."""
    from torch_aclnn.host.devices import devices  # imported here, because it imports all of torch_aclnn.host

    os.environ["TORCH_ACLNN_HOST_SOC"] = product
    try:
        with _without_standard_error():
            devices()
    except (OSError, RuntimeError) as error:
        return str(error)
    return None


@contextlib.contextmanager
def _without_standard_error() -> Iterator[None]:
    # The engine prints its banner there, which the program's process prints too.
    saved = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
