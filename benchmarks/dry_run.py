"""Time a training step of a language model of 8 billion parameters in a dry run, and the memory of the machine that it takes.

python -m benchmarks.dry_run
"""

import argparse
import json
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import torch_aclnn  # noqa: F401  # before torch
import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from benchmarks import machine
from benchmarks.processes import connected_process
from benchmarks.tables import INTERRUPTED, make_console

# The shape of Llama 3 8B.
LAYERS, WIDTH, HEADS, GROUPS, INNER, VOCABULARY = 32, 4096, 32, 8, 14336, 128256
HEAD = WIDTH // HEADS
# More than a chip has: parameters, gradients and both moments alone take 60 GiB in bfloat16.
DRY = {"TORCH_ACLNN_HOST_COMPUTE": "0", "TORCH_ACLNN_HOST_MEMORY": "128G"}
STEPS = 3


@dataclass(frozen=True)
class Cost:
    """Seconds, and bytes on the device and of the machine."""

    parameters: int
    making: float
    steps: list[float]
    allocated: int
    resident: int


class Attention(nn.Module):
    """Heads that share keys and values in groups, with rotated positions."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.out = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.k, self.v = (nn.Linear(WIDTH, GROUPS * HEAD, bias=False) for _ in range(2))

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        """Attend to what came before."""
        q, k, v = (layer(x).unflatten(-1, (-1, HEAD)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        k, v = (part.repeat_interleave(HEADS // GROUPS, 1) for part in (_rotated(k, *rotation), v))
        attended = functional.scaled_dot_product_attention(_rotated(q, *rotation), k, v, is_causal=True)
        return self.out(attended.transpose(1, 2).flatten(2))


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Block(nn.Module):
    """Attention, and a gated network of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2))
        self.attention = Attention()
        self.gate, self.up = (nn.Linear(WIDTH, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        """Add both to what goes through."""
        x = x + self.attention(self.norms[0](x), rotation)
        y = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    """A language model; of each block the backward computes the forward again."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embedding, self.norm = nn.Embedding(VOCABULARY, WIDTH), nn.RMSNorm(WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the loss of each next token."""
        x = self.embedding(tokens)
        angles = torch.outer(torch.arange(len(tokens[0]), device=x.device), 5e5 ** -torch.arange(0, 1, 2 / HEAD, device=x.device))
        rotation = tuple(torch.cat((part, part), -1).to(x.dtype) for part in (angles.cos(), angles.sin()))
        for block in self.blocks:
            x = checkpoint(block, x, rotation, use_reentrant=False)
        return functional.cross_entropy(self.head(self.norm(x))[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten())


def measure(sender: Connection, layers: int, length: int) -> None:
    """Send the cost of steps with AdamW."""
    torch.set_default_dtype(torch.bfloat16)
    begin = time.perf_counter()
    with torch.device("npu"):
        model = Model(layers)
    torch.npu.synchronize()
    times = [time.perf_counter() - begin]
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        begin = time.perf_counter()
        model(torch.randint(VOCABULARY, (1, length)).npu()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        torch.npu.synchronize()
        times.append(time.perf_counter() - begin)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sender.send(Cost(parameters, times[0], times[1:], torch.npu.max_memory_allocated(), resident))


def print_cost(console: Console, cost: Cost) -> None:
    """Print a line for each figure."""
    console.print(f"{cost.parameters:,} parameters, made in {cost.making:.1f} s")
    console.print("seconds a step: " + ", ".join(f"{seconds:.1f}" for seconds in cost.steps))
    console.print(f"GiB allocated on npu: {cost.allocated / 2**30:.1f}; memory of the machine: {cost.resident / 2**30:.1f}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.dry_run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=LAYERS, metavar="N", help="blocks of the model (%(default)s)")
    parser.add_argument("--length", type=int, default=4096, metavar="N", help="tokens of a sequence (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    options = parser.parse_args(argv)
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"{options.json}: its folder does not exist")
    try:
        with connected_process(measure, options.layers, options.length, **DRY) as receiver:
            cost = receiver.recv()
    except KeyboardInterrupt:
        return INTERRUPTED
    print_cost(make_console(), cost)
    if options.json:
        document = {"benchmark": "dry_run", "machine": machine.describe(), "cost": asdict(cost)}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
