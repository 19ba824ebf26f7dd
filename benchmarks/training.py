"""Time whole training steps: on cpu, on npu, and on npu with the model converted, in turns; the fastest of each, and npu's memory.

python -m benchmarks.training            # about two minutes
python -m benchmarks.training --quick    # fewer rounds
"""

import argparse
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import torch_aclnn
import torch
from torch import Tensor, nn

from benchmarks import machine
from benchmarks.networks import NETWORKS, Network
from benchmarks.processes import connected_process
from benchmarks.tables import INTERRUPTED, make_console, make_table, number, print_disturbance, ratio
from benchmarks.timing import seconds_per_call

ROUNDS, QUICK_ROUNDS = 15, 5
# The device, and whether the model is converted. Each has a process of its own, because the threads of one would slow down the others.
CONTENDERS = (("cpu", False), ("npu", False), ("npu", True))


@dataclass(frozen=True)
class StepTime:
    """Milliseconds for a step of a network, and the highest use of npu's memory in it. CPU's allocator keeps no such count."""

    network: str
    cpu_ms: float
    npu_ms: float
    converted_ms: float
    npu_peak_bytes: int
    converted_peak_bytes: int


def make_step(network: Network, model: nn.Module, device: str) -> Callable[[], Tensor]:
    """Return forward, backward and an update of the parameters, which ends when they are there."""
    model, batch = model.to(device), network.batch().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9)

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach().cpu()

    return step


def _answer(connection: Connection, device: str, converted: bool) -> None:
    """Make a network for each name that comes, and a step for each None, of which the seconds and the highest use of memory go back."""
    networks = {network.name: network for network in NETWORKS}
    while True:
        name = connection.recv()
        if name is not None:
            torch.manual_seed(0)
            model = networks[name].make()
            step = make_step(networks[name], torch_aclnn.convert(model) if converted else model, device)
        else:
            step()  # so that the caches hold its own, as within a training loop
            if device == "npu":  # which the process of cpu does not wake
                torch.npu.reset_peak_memory_stats()
            connection.send((seconds_per_call(step, 1), torch.npu.max_memory_allocated() if device == "npu" else 0))


def measure(network: Network, contenders: Sequence[Connection], rounds: int) -> StepTime:
    """Time the steps of the contenders, which begin with the same parameters, in turns."""
    for contender in contenders:
        contender.send(network.name)
    seconds: list[list[float]] = [[] for _ in contenders]
    peaks = [0 for _ in contenders]
    for _ in range(1 + rounds):
        for i, contender in enumerate(contenders):
            contender.send(None)
            taken, peaks[i] = contender.recv()
            seconds[i].append(taken)
    # A step is long, so other programs meet most of them; what disturbs one makes it longer only.
    return StepTime(network.name, *(1e3 * min(taken[1:]) for taken in seconds), *peaks[1:])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.training", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args(argv)
    console, others, results = make_console(), machine.OtherPrograms(), []
    console.print(machine.summary(machine.describe()))
    try:
        with ExitStack() as processes:
            contenders = [processes.enter_context(connected_process(_answer, *arguments)) for arguments in CONTENDERS]
            results.extend(measure(network, contenders, QUICK_ROUNDS if options.quick else ROUNDS) for network in NETWORKS)
    except KeyboardInterrupt:
        return INTERRUPTED
    except EOFError:
        console.print("[red]a process that measures ended early; its error is above[/red]")
        return 1
    columns = ("cpu", "npu", "npu, converted", "cpu / npu", "npu / converted", "MB, npu", "MB, converted")
    table = make_table("a step of", columns, title="milliseconds, two ratios, and the highest use of npu's memory")
    for time in results:
        milliseconds = map(number, (time.cpu_ms, time.npu_ms, time.converted_ms))
        megabytes = (f"{peak / 1e6:.1f}" for peak in (time.npu_peak_bytes, time.converted_peak_bytes))
        table.add_row(time.network, *milliseconds, ratio(time.cpu_ms / time.npu_ms), ratio(time.npu_ms / time.converted_ms), *megabytes)
    console.print(table)
    print_disturbance(console, others.share())
    if options.json:
        document = {"benchmark": "training", "machine": machine.describe(), "cases": [asdict(time) for time in results]}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
