"""Collectives over hccl on the engine compared with gloo's on cpu tensors, and synchronised batch norm with torch's own.

python -m benchmarks.distributed            # 2, 4 and 8 ranks on this machine; a few minutes
python -m benchmarks.distributed --quick    # 2 ranks, few sizes and rounds
"""

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from torch_aclnn.command.parser import Parser, writable

from benchmarks import machine
from benchmarks.figures import geometric_mean
from benchmarks.processes import call_in_ranks
from benchmarks.ranks import IN_A_ROW, MIB, Collective, CollectiveTime, Norm, NormTime, measure
from benchmarks.tables import make_console, make_table, number, print_disturbance, ratio, report_end

ROUNDS, QUICK_ROUNDS = 31, 5
NAMES = ("AllReduce", "AllGather", "ReduceScatter")
SIZES = (4, 64, 2**10, 2**14, 2**18, MIB, 4 * MIB, 16 * MIB, 64 * MIB)
COLLECTIVES = [
    *(Collective(name, size) for name in NAMES for size in SIZES),
    *(Collective(name, size, dtype) for name in NAMES[::2] for dtype in ("float16", "bfloat16") for size in (MIB, 16 * MIB)),
]
NORMS = [
    *(Norm(shape) for shape in ((2, 8, 4, 4), (16, 64, 16, 16), (8, 256, 14, 14), (32, 64), (2, 16, 8, 16, 16))),
    *(Norm((16, 64, 16, 16), dtype) for dtype in ("float16", "bfloat16")),
]
FOR_RANKS = [Collective(name, MIB) for name in NAMES], NORMS[1:2]
QUICK = [Collective(name, size) for name in NAMES for size in (4, MIB)], NORMS[:2]


@dataclass
class Results:
    """The measurements so far."""

    collectives: list[CollectiveTime] = field(default_factory=list)
    norms: list[NormTime] = field(default_factory=list)


@dataclass(frozen=True)
class Job:
    """A number of ranks and what they measure."""

    ranks: int
    compared: bool
    collectives: Sequence[Collective]
    norms: Sequence[Norm]

    def __str__(self) -> str:
        return f"{self.ranks} ranks, {_comparison(self.compared)}"

    def run(self, rounds: int, results: Results) -> None:
        """Start the ranks and add their measurements."""
        switch = {"TORCH_ACLNN_HOST_CHECK_COLLECTIVES": str(int(self.compared))}
        collectives, norms = call_in_ranks(measure, self.ranks, self.collectives, self.norms, self.compared, rounds, **switch)
        results.collectives += collectives
        results.norms += norms


def jobs(quick: bool) -> list[Job]:
    """Return what is measured."""
    collectives, norms = QUICK if quick else (COLLECTIVES, NORMS)
    two = [Job(2, True, collectives, norms), Job(2, False, collectives, [])]
    return two if quick else [*two, Job(4, True, *FOR_RANKS), Job(8, True, *FOR_RANKS)]


def _comparison(compared: bool) -> str:
    return "ranks compare collectives" if compared else "without the comparison"


def _size(size: int) -> str:
    for unit, name in ((MIB, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def print_collectives(console: Console, times: Sequence[CollectiveTime], compared: bool) -> None:
    """Print the times of each collective with two ranks, and the conclusions."""
    chosen = [time for time in times if time.ranks == 2 and time.compared == compared]
    if not chosen:
        return
    table = make_table(
        "collective",
        ["hccl\nus", "gloo\nus", "more\nus", "hccl\nMB/s", "gloo\nMB/s", "ratio"],
        title=f"2 ranks, {_comparison(compared)}: a call and its synchronisation,\nand the throughput of {IN_A_ROW} calls in a row",
    )
    for time in chosen:
        case = time.case
        label = f"{case.name} {_size(case.bytes)}{'' if case.dtype == 'float32' else ' ' + case.dtype}"
        latency = [f"{1e6 * seconds:.0f}" for seconds in (time.hccl, time.gloo, time.overhead)]
        speeds = [number(case.bytes / seconds / 1e6) for seconds in (time.hccl_in_a_row, time.gloo_in_a_row)]
        table.add_row(label, *latency, *speeds, ratio(time.throughput_ratio))
    console.print(table)
    large = [time for time in chosen if time.case.bytes >= MIB]
    worst = min(large, key=lambda time: time.throughput_ratio)
    overhead = statistics.median(time.overhead for time in chosen if time.case.bytes < MIB)
    console.print(
        f"below 1 MiB a call takes {1e6 * overhead:.0f} us longer over hccl in the median; from 1 MiB on its throughput is "
        f"{geometric_mean(time.throughput_ratio for time in large):.2f} of gloo's in the geometric mean, "
        f"{worst.throughput_ratio:.2f} at worst ({worst.case.dtype} {worst.case.name} of {_size(worst.case.bytes)})\n"
    )


def print_norms(console: Console, times: Sequence[NormTime]) -> None:
    """Print the time of a step of batch norm with two ranks."""
    chosen = [time for time in times if time.ranks == 2]
    if not chosen:
        return
    table = make_table("input", ["ours\nus", "torch's\nus", "ratio"], title="2 ranks: a forward and backward of SyncBatchNorm")
    for time in chosen:
        table.add_row(time.case.name, f"{1e6 * time.ours:.0f}", f"{1e6 * time.theirs:.0f}", f"{time.ratio:.2f}")
    table.add_section()
    table.add_row("geometric mean", "", "", f"{geometric_mean(time.ratio for time in chosen):.2f}", style="bold")
    console.print(table)


def print_ranks(console: Console, results: Results) -> None:
    """Print how the time of a call grows with the number of ranks."""
    ranks = sorted({time.ranks for time in results.collectives})
    if len(ranks) < 2:
        return
    table = make_table("microseconds a call", [f"{count} ranks" for count in ranks], title="hccl / gloo, and ours / torch's")
    for case in FOR_RANKS[0]:
        pairs = {time.ranks: (time.hccl, time.gloo) for time in results.collectives if time.case == case and time.compared}
        table.add_row(f"{case.name} {_size(case.bytes)}", *(_pair(pairs.get(count)) for count in ranks))
    for norm in FOR_RANKS[1]:
        pairs = {time.ranks: (time.ours, time.theirs) for time in results.norms if time.case == norm}
        table.add_row(f"SyncBatchNorm {norm.name}", *(_pair(pairs.get(count)) for count in ranks))
    console.print(table)
    cores = len(os.sched_getaffinity(0))
    if cores < max(ranks):
        console.print(f"this machine has {cores} cores: where there are more ranks they take turns, which is most of their time")


def _pair(seconds: tuple[float, float] | None) -> str:
    return "-" if seconds is None else " / ".join(f"{1e6 * value:.0f}" for value in seconds)


def _document(described: dict[str, Any], results: Results) -> dict[str, Any]:
    collectives = [{**asdict(time), "throughput_ratio": time.throughput_ratio} for time in results.collectives]
    norms = [{**asdict(time), "ratio": time.ratio} for time in results.norms]
    return {"benchmark": "distributed", "machine": described, "collectives": collectives, "batch_norm": norms}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = Parser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--json", type=writable, metavar="FILE", help="write all figures")
    parser.add_argument("--quick", action="store_true", help="2 ranks, few sizes and rounds")
    options = parser.parse_args(argv)
    console, results, status = make_console(), Results(), 0
    described, others = machine.describe(), machine.OtherPrograms()
    console.print(machine.summary(described))
    try:
        for job in jobs(options.quick):
            with make_console(stderr=True).status(str(job)):
                job.run(QUICK_ROUNDS if options.quick else ROUNDS, results)
    except (KeyboardInterrupt, RuntimeError) as error:
        status = report_end(console, error)
    for compared in (True, False):
        print_collectives(console, results.collectives, compared)
    print_norms(console, results.norms)
    print_ranks(console, results)
    print_disturbance(console, others.share())
    if options.json:
        options.json.write_text(json.dumps(_document(described, results), indent=1) + "\n")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
