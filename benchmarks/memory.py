"""Bytes that a layer keeps alive between forward and backward: ours compared with torch's own, on npu and cpu.

python -m benchmarks.memory
"""

import argparse
import gc
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch_aclnn
import torch
from rich.console import Console
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch_aclnn._operators import OPERATORS
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.specification import Layer

from benchmarks import machine
from benchmarks.case import times
from benchmarks.tables import INTERRUPTED, make_console, make_table

# Of the chain.
INPUT_SHAPE = (4, 32, 112, 112)
DEVICES = ("cpu", "npu")


@dataclass(frozen=True)
class Kept:
    """Bytes that the graph of one layer keeps alive after the forward, and on npu the highest use until the backward has ended."""

    layer: str
    device: str
    ours: int
    theirs: int
    ours_peak: int | None = None
    theirs_peak: int | None = None


class StorageWatch(TorchDispatchMode):
    """Remembers each storage that an operator returns, without keeping it alive.

    Counting what autograd saves is not enough: saved_tensors_hooks sees nothing that a Function stores in another way. A weak reference
    to the storage itself expires exactly when its memory is freed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator and look at its results."""
        result = func(*args, **(kwargs or {}))
        for leaf in torch.utils._pytree.tree_leaves(result):
            if isinstance(leaf, Tensor):
                storage = leaf.untyped_storage()
                self._seen[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
        return result

    def alive(self) -> int:
        """Return the bytes of the storages that still have their memory."""
        return sum(size for reference, size in self._seen.values() if not reference.expired())


def kept(layer: Layer, input: Tensor) -> int:
    """Return the bytes that are alive after a forward because the graph holds them."""
    return _kept_on_npu(layer, input) if input.device.type == "npu" else _kept_on_cpu(layer, input)


def _kept_on_cpu(layer: Layer, input: Tensor) -> int:
    with StorageWatch() as watch:
        edge = _forward(layer, input)
    alive = watch.alive()
    del edge
    return alive


def _kept_on_npu(layer: Layer, input: Tensor) -> int:
    before = _allocated()
    edge = _forward(layer, input)
    alive = _allocated() - before
    del edge
    return alive


def peak(layer: Layer, input: Tensor) -> int | None:
    """Return the highest use of npu's memory in a forward and backward, beyond the input. CPU's allocator keeps no such count."""
    if input.device.type != "npu":
        return None
    before = _allocated()
    torch.npu.reset_peak_memory_stats()
    output = layer(input * 1.0)
    torch.autograd.grad(output, input, torch.ones_like(output))
    torch.npu.synchronize()
    return torch.npu.max_memory_allocated() - before


def _forward(layer: Layer, input: Tensor) -> GradientEdge:
    """Return the graph without the output.

    The layer's input is a product with a number, which saves nothing, so it dies here unless the layer saves it.
    """
    return get_gradient_edge(layer(input * 1.0))


def _allocated() -> int:
    torch.npu.synchronize()  # the task queue holds the tensors of what it has not done yet
    return torch.npu.memory_allocated()


def chain(modules: ModuleType) -> nn.Module:
    """Return a pyramid, as in front of a classifier, of torch.nn's modules or ours; only the chain holds what is between its layers."""
    return nn.Sequential(
        modules.ReplicationPad2d(2),
        modules.AvgPool2d(3, stride=2),
        modules.ReplicationPad2d(1),
        modules.AvgPool2d(2),
        modules.AdaptiveAvgPool2d(7),
    )


def measure(device: str) -> list[Kept]:
    """Measure the function of each operator, and then the chain."""
    gc.collect()  # what cycles of the program's hold would be freed between two readings
    rows = []
    for operator in OPERATORS:
        specification = SPECIFICATIONS[operator.name]
        input = torch.ones(specification.layer_shape, device=device, requires_grad=True)
        rows.append(_compare(f"{operator.function} of {times(input.shape)}", *specification.layers(input), input))
    input = torch.ones(INPUT_SHAPE, device=device, requires_grad=True)
    return [*rows, _compare(f"the chain, of {times(input.shape)}", chain(torch_aclnn.nn), chain(nn), input)]


def _compare(name: str, ours: Layer, theirs: Layer, input: Tensor) -> Kept:
    return Kept(name, input.device.type, kept(ours, input), kept(theirs, input), peak(ours, input), peak(theirs, input))


def print_rows(console: Console, rows: Sequence[Kept]) -> None:
    """Print one table per device."""
    console.print("bytes that the graph keeps between forward and backward; the inputs are float32")
    for device in DEVICES:
        chosen = [row for row in rows if row.device == device]
        has_peak = chosen[0].ours_peak is not None
        columns = ("ours", "torch's", *(("highest\nuse, ours", "highest\nuse, torch's") if has_peak else ()))
        table = make_table("layer", columns, title=device)
        for row in chosen:
            if row is chosen[-1]:
                table.add_section()
            counts = (row.ours, row.theirs, *((row.ours_peak, row.theirs_peak) if has_peak else ()))
            table.add_row(row.layer, *(f"{count:,}" for count in counts))
        console.print(table)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.memory", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    options = parser.parse_args(argv)
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"{options.json}: its folder does not exist")
    try:
        rows = [row for device in DEVICES for row in measure(device)]
    except KeyboardInterrupt:
        return INTERRUPTED
    print_rows(make_console(), rows)
    if options.json:
        document = {"benchmark": "memory", "machine": machine.describe(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
