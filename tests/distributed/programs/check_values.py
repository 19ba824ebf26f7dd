"""What the checks of collectives share: each does the collective on npu, and computes its result on cpu, by gloo where gloo has it."""

import os
from collections.abc import Callable

import torch
import torch.distributed as dist

MOVED = (
    "int8", "int16", "int32", "int64", "uint8", "bool", "float16", "bfloat16", "float32", "float64", "uint16", "uint32", "uint64",
    "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
REDUCED = ("int8", "int16", "int32", "int64", "float16", "bfloat16", "float32")
OPS = {"sum": dist.ReduceOp.SUM, "prod": dist.ReduceOp.PRODUCT, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}
SIZES = (0, 1, 7, 1000)
# Reductions so large that they go in parts, and these in segments of a million elements; not a multiple of the number of ranks.
LARGE = 2_200_003

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
Check = Callable[[str, dist.ProcessGroup | None], list[torch.Tensor]]


def values(count: int, dtype: str, rank: int = RANK) -> torch.Tensor:
    """Return small whole numbers, which every type holds exactly, also after a sum over the ranks."""
    generator = torch.Generator().manual_seed(count + 100 * rank)
    low = -4 if dtype[0] in "if" else 0
    return torch.randint(low, 5, (count,), generator=generator).to(getattr(torch, dtype))
