"""Microseconds per call on tiny tensors, where the overhead of a call is all that counts: ours compared with torch's own.

python -m benchmarks.dispatch            # on npu in each mode of torch_npu's task queue, and autograd on cpu; about a minute
python -m benchmarks.dispatch --quick    # fewer rounds
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection

import torch_aclnn
import torch
from rich.console import Console
from rich.table import Table
from torch_aclnn.command.parser import Parser, writable

from benchmarks import machine
from benchmarks.figures import geometric_mean
from benchmarks.pairs import autograd_pairs, operator_pairs
from benchmarks.processes import connected_process
from benchmarks.tables import make_console, make_table, number, print_disturbance, report_end
from benchmarks.timing import alternate

ROUNDS, QUICK_ROUNDS = 31, 7
OPERATORS, AUTOGRAD = "operator", "forward and backward"
# How many calls make a round: the same number for both sides, so that the synchronisation at its end costs both the same.
CALLS = {OPERATORS: 500, AUTOGRAD: 50}
WIDE = 130  # columns that a table of all settings takes
# torch_npu reads TASK_QUEUE_ENABLE once, so each value has a process of its own.
SETTINGS = {"npu, queue 0": "0", "npu, queue 1": "1", "npu, queue 2": "2", "cpu": "0"}


@dataclass(frozen=True)
class Cost:
    """Microseconds per call: ours, and theirs."""

    kind: str
    name: str
    setting: str
    ours_us: float
    theirs_us: float
    cache_hits: int | None  # of both sides, in all rounds; None where hits are not counted

    @property
    def ratio(self) -> float:
        """Our cost as a multiple of theirs."""
        return self.ours_us / self.theirs_us


def measure(setting: str, rounds: int) -> list[Cost]:
    """Time each pair in turns; on npu each round ends with a synchronisation."""
    device = setting.partition(",")[0]
    finish = torch.npu.synchronize if device == "npu" else None
    kinds = {OPERATORS: operator_pairs(device) if device == "npu" else {}, AUTOGRAD: autograd_pairs(device)}
    costs = []
    for kind, pairs in kinds.items():
        for name, pair in pairs.items():
            before = _cache_hits()
            ours, theirs = (1e6 * seconds for seconds in alternate(pair, [CALLS[kind]] * 2, rounds, finish))
            costs.append(Cost(kind, name, setting, ours, theirs, None if before is None else _cache_hits() - before))
    return costs


def _cache_hits() -> int | None:
    return torch_aclnn.host.statistics().cache_hits if torch_aclnn.host.is_active() else None


def measure_apart(setting: str, rounds: int) -> list[Cost]:
    """Measure in a new process."""
    with connected_process(_send_costs, setting, rounds, TASK_QUEUE_ENABLE=SETTINGS[setting]) as connection:
        try:
            costs: list[Cost] = connection.recv()
        except EOFError:
            raise RuntimeError(f"{setting}: the process that measures ended early; its error is above") from None
    return costs


def _send_costs(sender: Connection, setting: str, rounds: int) -> None:
    sender.send(measure(setting, rounds))


def print_costs(console: Console, costs: Sequence[Cost]) -> None:
    """Print a table for each kind of call, with a column for each setting, or a table for each setting if that is too wide."""
    for kind in (OPERATORS, AUTOGRAD):
        chosen = [cost for cost in costs if cost.kind == kind]
        settings = _unique(cost.setting for cost in chosen)
        for together in [settings] if console.width >= WIDE else [[setting] for setting in settings]:
            if together:
                console.print(_table(kind, together, chosen))
    for setting in _unique(cost.setting for cost in costs if cost.cache_hits is not None):
        hits = sum(cost.cache_hits or 0 for cost in costs if cost.setting == setting)
        console.print(f"{setting}: {hits:,} calls without phase 1, by the cache of executors")


def _table(kind: str, settings: Sequence[str], costs: Sequence[Cost]) -> Table:
    names = _unique(cost.name for cost in costs)
    by_place = {(cost.name, cost.setting): cost for cost in costs}
    table = make_table(kind, settings, title="microseconds per call: ours / torch's = ratio")
    for name in names:
        table.add_row(name, *(_cell(by_place[name, setting]) for setting in settings))
    means = (geometric_mean(cost.ratio for cost in costs if cost.setting == setting) for setting in settings)
    table.add_section()
    table.add_row("geometric mean of the ratio", *(f"{mean:.2f}" for mean in means), style="bold")
    return table


def _cell(cost: Cost) -> str:
    ratio = f"{cost.ratio:.2f}"
    return f"{number(cost.ours_us)} / {number(cost.theirs_us)} = {f'[red]{ratio}[/red]' if cost.ratio > 1 else ratio}"


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = Parser(prog="python -m benchmarks.dispatch", description=__doc__)
    parser.add_argument("--json", type=writable, metavar="FILE", help="write all figures")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args(argv)
    console, costs = make_console(), []
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    described, others = machine.describe(), machine.OtherPrograms()
    console.print(machine.summary(described))
    status = 0
    try:
        for setting in SETTINGS:
            with make_console(stderr=True).status(setting):
                costs += measure_apart(setting, rounds)
    except (KeyboardInterrupt, RuntimeError) as error:
        status = report_end(console, error)
    print_costs(console, costs)
    print_disturbance(console, others.share())
    if options.json:
        figures = [{**asdict(cost), "ratio": cost.ratio} for cost in costs]
        written = {"benchmark": "dispatch", "machine": described, "costs": figures}
        options.json.write_text(json.dumps(written, indent=1) + "\n")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
