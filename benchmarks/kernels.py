"""Time our CPU operators against ATen's, inductor's, and the ideal that memory allows.

python -m benchmarks.kernels            # all cases; some minutes
python -m benchmarks.kernels --quick    # few cases, without inductor; less than a minute
python -m benchmarks.kernels --filter "bfloat16 32x64" --json new.json --compare old.json
python -m benchmarks.kernels --random 300  # as many cases drawn at random, of all sizes, dtypes and layouts
"""

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from torch_aclnn.command.parser import Parser, writable

from benchmarks import inductor, machine
from benchmarks.case import Case, Work
from benchmarks.checks import WrongResult, check_ours, check_peer
from benchmarks.families import CASES, random_cases
from benchmarks.figures import Earlier, Figures, UnusableFile, as_json, read_earlier
from benchmarks.tables import INTERRUPTED, make_console, print_conclusions, print_disturbance, print_times
from benchmarks.timing import CopySpeed, compare

ROUNDS, QUICK_ROUNDS = 9, 5
FAILED = 1


@dataclass
class Run:
    """How to measure, and what was measured so far."""

    rounds: int
    with_inductor: bool
    copy: CopySpeed = field(default_factory=CopySpeed)
    cases: list[Figures] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: bool = False

    def measure(self, case: Case) -> None:
        """Check and time one case; leave a note if that cannot be done."""
        work, others = case.work(), machine.OtherPrograms()
        self.copy.sample()
        try:
            check_ours(work)
            check_peer(work, "ATen", work.aten)
            compiled, calls_aten = self.compile(case, work)
            calls = [work.ours, work.aten, *([compiled] if compiled else [])]
            seconds = compare(calls, self.rounds)
        except (WrongResult, RuntimeError) as error:
            self.failed = True
            self.notes.append(f"[red]no times[/red] of {case.name}: {_first_line(error)}")
            return
        how = {"inductor_calls_aten": calls_aten, "doubtful": others.share() > machine.DOUBTFUL_SHARE}
        self.cases.append(Figures(case.name, case.group, work.bytes, *(1e3 * s for s in seconds), **how))

    def compile(self, case: Case, work: Work) -> tuple[Callable[[], Any] | None, bool]:
        """Return inductor's call and whether it is ATen's operator, or add a note and return nothing if its result is wrong."""
        if not self.with_inductor:
            return None, False
        try:
            compiled, calls_aten = inductor.compile_case(work)
            check_peer(work, "inductor", compiled)
        except (WrongResult, RuntimeError, AssertionError) as error:  # AssertionError: a result has other strides than inductor expects
            self.notes.append(f"inductor fails on {case.name}: {_first_line(error)}")
            return None, False
        return compiled, calls_aten


def _first_line(error: Exception) -> str:
    return escape(str(error).strip().partition("\n")[0])


def parse(argv: Sequence[str] | None) -> tuple[argparse.Namespace, list[Case], Earlier | None]:
    """Return the options, the cases they select and the earlier figures; end the program with a message if they are wrong."""
    parser = Parser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("--json", type=writable, metavar="FILE", help="write all figures")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show our speed-up against what --json wrote earlier")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose name contains it")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of all contenders (default: torch's)")
    parser.add_argument("--quick", action="store_true", help="few cases and rounds, without inductor")
    parser.add_argument("--random", type=int, metavar="N", help="instead, so many cases that are drawn at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of --random; the same cases for the same seed (default: 0)")
    options = parser.parse_args(argv)
    for name in ("threads", "random"):
        number = getattr(options, name)
        if number is not None and number < 1:
            parser.error(f"--{name}: expected at least 1, got {number}")
    if options.random and options.quick:
        parser.error("--random: expected no --quick, which selects from the fixed cases")
    offered = random_cases(options.random, options.seed) if options.random else CASES
    cases = [case for case in offered if options.filter in case.name and (case.quick or not options.quick)]
    if not cases:
        parser.error(f"--filter: no case's name contains {options.filter!r}; names look like {offered[0].name!r}")
    try:
        return options, cases, read_earlier(options.compare, [case.name for case in cases]) if options.compare else None
    except UnusableFile as error:
        parser.error(f"--compare: {error}")


def measure_each(console: Console, cases: Sequence[Case], measure: Callable[[Case], Any]) -> bool:
    """Measure one after the other under a progress bar; print a message and return False if interrupted."""
    errors = Console(stderr=True)
    # The bar is drawn between cases only, because drawing takes time from what is measured.
    with Progress(console=errors, transient=True, auto_refresh=False, disable=not errors.is_terminal) as progress:
        task = progress.add_task("", total=len(cases))
        try:
            for done, case in enumerate(cases):
                progress.update(task, description=case.name, completed=done, refresh=True)
                measure(case)
        except KeyboardInterrupt:
            console.print(f"interrupted after {done} of {len(cases)} cases")
            return False
    return True


def run_times(console: Console, options: argparse.Namespace, cases: list[Case], earlier: Earlier | None) -> int:
    """Measure the cases, print, and write the files asked for."""
    lacking = "left out by --quick" if options.quick else inductor.problem()
    if lacking:
        console.print(f"inductor: not measured, {lacking}")
    else:
        inductor.prepare()
    others = machine.OtherPrograms()
    run = Run(QUICK_ROUNDS if options.quick else ROUNDS, with_inductor=not lacking)
    complete = measure_each(console, cases, run.measure)
    for note in run.notes:
        console.print(note)
    if run.cases:
        speed, described = run.copy.gb_per_s, machine.describe()
        print_times(console, run.cases, speed, earlier)
        print_conclusions(console, run.cases, speed, earlier)
        print_disturbance(console, others.share())
        if options.json:
            how = {"rounds": run.rounds, "inductor": None if lacking else inductor.MODE, "complete": complete, "others": others.share()}
            options.json.write_text(json.dumps(as_json(run.cases, speed, described, how), indent=1) + "\n")
    return INTERRUPTED if not complete else FAILED if run.failed else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    options, cases, earlier = parse(argv)
    # torch_npu warns of its own inductor backend, which is not used here.
    warnings.filterwarnings("ignore", message="triton-ascend is not installed")
    if options.threads:
        torch.set_num_threads(options.threads)
    console = make_console()
    console.print(machine.summary(machine.describe()))
    if options.quick:
        console.print(f"quick: {len(cases)} of {len(CASES)} cases, {QUICK_ROUNDS} rounds")
    return run_times(console, options, cases, earlier)


if __name__ == "__main__":
    raise SystemExit(main())
