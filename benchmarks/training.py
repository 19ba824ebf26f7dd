"""Time whole training steps, and a loop that decodes: on cpu, and on npu in each mode of the task queue and with the model converted.

python -m benchmarks.training            # about five minutes
python -m benchmarks.training --quick    # fewer rounds
"""

import json
import os
import signal
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import torch_aclnn  # noqa: F401
from rich.console import Console
from torch_aclnn.command.parser import Parser, writable
from torch_aclnn.command.trace.records import read
from torch_aclnn.command.trace.summary import by_entry_point

from benchmarks import machine
from benchmarks.networks import WORKLOADS, Workload
from benchmarks.processes import connected_process
from benchmarks.tables import INTERRUPTED, make_console, make_table, number, print_disturbance
from benchmarks.timing import seconds_per_call

ROUNDS, QUICK_ROUNDS = 15, 5
CPU, NPU, CONVERTED = "cpu", "npu", "npu, converted"
# The device, whether the model is converted, and the mode of the task queue. Each contender runs alone in its own process.
CONTENDERS = {
    CPU: ("cpu", False, "1"),
    NPU: ("npu", False, "1"),
    CONVERTED: ("npu", True, "1"),
    "npu, queue 0": ("npu", False, "0"),
    "npu, queue 2": ("npu", False, "2"),
}
# For a workload that misses its limit, how many of the slowest entry points are named, and from how many steps.
SLOWEST, TRACED_STEPS = 5, 5


@dataclass(frozen=True)
class StepTime:
    """Milliseconds for a step of a workload, by contender: the fastest of the rounds."""

    workload: str
    limit: float
    milliseconds: dict[str, float]

    @property
    def against_cpu(self) -> float:
        """The time on npu as a multiple of that on cpu."""
        return self.milliseconds[NPU] / self.milliseconds[CPU]

    @property
    def of_converted(self) -> float:
        """The time with the model converted as a multiple of that on npu."""
        return self.milliseconds[CONVERTED] / self.milliseconds[NPU]


def _answer(connection: Connection, name: str, device: str, converted: bool) -> None:
    """Send the number of this process, then answer each message with the seconds of a step."""
    step = next(workload for workload in WORKLOADS if workload.name == name).start(device, converted)
    connection.send(os.getpid())
    while True:
        connection.recv()
        step()  # fills the caches, as within a training loop
        connection.send(seconds_per_call(step, 1))


def _time_step(connection: Connection, process: int) -> float:
    """Return the seconds of a step in the process, which is stopped afterwards because its idle threads would slow down the others."""
    os.kill(process, signal.SIGCONT)
    connection.send(None)
    seconds: float = connection.recv()
    os.kill(process, signal.SIGSTOP)
    return seconds


def measure(workload: Workload, rounds: int) -> StepTime:
    """Time the steps of the contenders, which begin with the same parameters, in turns."""
    seconds: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
    with ExitStack() as processes:
        connections = {
            contender: processes.enter_context(connected_process(_answer, workload.name, device, converted, TASK_QUEUE_ENABLE=queue))
            for contender, (device, converted, queue) in CONTENDERS.items()
        }
        numbers = {contender: connection.recv() for contender, connection in connections.items()}
        for _ in range(1 + rounds):
            for contender, connection in connections.items():
                seconds[contender].append(_time_step(connection, numbers[contender]))
    # Steps are long, so other programs disturb most of them, and a disturbance only lengthens a step: the minimum is the best estimate.
    return StepTime(workload.name, workload.limit, {contender: 1e3 * min(taken[1:]) for contender, taken in seconds.items()})


def slowest_tasks(workload: Workload) -> list[str]:
    """Return the entry points that take most of a step on npu, with their milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.jsonl"
        with connected_process(_answer, workload.name, "npu", False, TORCH_ACLNN_HOST_TRACE=os.fspath(trace)) as connection:
            connection.recv()
            for _ in range(TRACED_STEPS):
                connection.send(None)
                connection.recv()
        found = by_entry_point(read(trace)).items()
    tasks = sorted(found, key=lambda item: -item[1].task_seconds)[:SLOWEST]
    steps = 2 * TRACED_STEPS
    return [f"{name} {number(1e3 * entry.task_seconds / steps)} ms" for name, entry in tasks]


def print_times(console: Console, times: Sequence[StepTime]) -> None:
    """Print a row for each workload."""
    table = make_table("a step of", [*CONTENDERS, "npu / cpu", "at most", "converted / npu"], title="milliseconds, and ratios")
    for time in times:
        text = f"{time.against_cpu:.2f}"
        against_cpu = f"[red]{text}[/red]" if time.against_cpu > time.limit else text
        table.add_row(time.workload, *map(number, time.milliseconds.values()), against_cpu, f"{time.limit:.2f}", f"{time.of_converted:.2f}")
    console.print(table)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = Parser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("--json", type=writable, metavar="FILE", help="write all figures")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args(argv)
    console, others, results = make_console(), machine.OtherPrograms(), []
    console.print(machine.summary(machine.describe()))
    try:
        results.extend(measure(workload, QUICK_ROUNDS if options.quick else ROUNDS) for workload in WORKLOADS)
        print_times(console, results)
        for workload, time in zip(WORKLOADS, results, strict=True):
            if time.against_cpu > time.limit:
                console.print(f"{workload.name}: {', '.join(slowest_tasks(workload))}")
    except KeyboardInterrupt:
        return INTERRUPTED
    except EOFError:
        console.print("[red]a process that measures ended early; its error is above[/red]")
        return 1
    print_disturbance(console, others.share())
    if options.json:
        document = {"benchmark": "training", "machine": machine.describe(), "cases": [asdict(time) for time in results]}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
