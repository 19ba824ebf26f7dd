"""Products of matrices over ranks, by torch_npu's operators; prints how far each is from float64's, as JSON."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch_npu
from torch.utils._pytree import tree_leaves, tree_map

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.npu.set_device(RANK)
dist.init_process_group("hccl", init_method=sys.argv[1], rank=RANK, world_size=RANKS)
NAME = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(RANK)  # type: ignore[union-attr]


def operands(dtype: torch.dtype, rows: int) -> list[list[torch.Tensor]]:
    """Return x1, x2, bias and x3 of each rank, the same on all."""
    generator = torch.Generator().manual_seed(3)
    shapes = ((rows, 6), (6, 5), (5,), (rows, 5))
    return [[torch.randn(shape, generator=generator).to(dtype) for shape in shapes] for _ in range(RANKS)]


def error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the difference from the rounded number, in units of the last place of the greatest."""
    assert got.shape == expected.shape, (got.shape, expected.shape)
    difference = (got.cpu().double() - expected.to(got.dtype).double()).abs().max().item()
    return difference / (expected.abs().max().item() * torch.finfo(got.dtype).eps)


def without_data(value: Any) -> Any:
    return torch.empty_like(value, device="meta") if isinstance(value, torch.Tensor) else value


def as_described(operator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the results of an operator, whose shapes and data types are those that torch_npu describes without data."""
    given, described = operator(*args, **kwargs), operator(*tree_map(without_data, args), **tree_map(without_data, kwargs))
    shapes = [[(result.shape, result.dtype) for result in tree_leaves(results)] for results in (given, described)]
    assert shapes[0] == shapes[1], shapes
    return given


def results(dtype: torch.dtype, rows: int) -> dict[str, float]:
    ranks = operands(dtype, rows)
    x1, x2, bias, x3 = (tensor.npu() for tensor in ranks[RANK])
    own: dict[str, Any] = {"bias": bias, "reduce_op": "sum"}
    exact = [[tensor.double() for tensor in tensors] for tensors in ranks]
    summed = sum(a @ b for a, b, *_ in exact) + sum(c for _, _, c, _ in exact)
    all_rows = torch.cat([a for a, *_ in exact])
    part = slice(RANK * rows // RANKS, (RANK + 1) * rows // RANKS)
    gathered_product, gathered = as_described(torch_npu.npu_all_gather_base_mm, x1, x2, NAME, RANKS, bias=bias, gather_output=True)
    scattered = as_described(torch_npu.npu_mm_reduce_scatter_base, x1, x2, NAME, RANKS, **own)
    # The second operand is passed transposed, as the weight of torch.nn.Linear is.
    transposed = x2.t().contiguous().t()
    return {
        "all reduce": error(torch_npu.npu_mm_all_reduce_base(x1, x2, NAME, **own), summed),
        "all reduce and x3": error(
            torch_npu.npu_mm_all_reduce_base(x1, transposed, NAME, x3=x3, **own), summed + sum(d for *_, d in exact)
        ),
        "all reduce of a batch": error(
            torch_npu.npu_mm_all_reduce_base(x1.view(2, rows // 2, 6), x2, NAME, **own), summed.view(2, rows // 2, 5)
        ),
        "reduce scatter": error(scattered, summed[part]),
        "all gather": error(gathered_product, all_rows @ exact[RANK][1] + exact[RANK][2]),
        "gathered": error(gathered, all_rows),
    }


def refusal(rows: int) -> str:
    try:
        torch_npu.npu_mm_all_reduce_base(torch.ones(rows, 2).half().npu(), torch.ones(2, 3).half().npu(), NAME)
        torch.npu.synchronize()
    except RuntimeError as error:
        return str(error)
    return ""


for dtype in (torch.float16, torch.bfloat16):
    print(json.dumps({f"{dtype} {name}": value for name, value in results(dtype, 2 * RANKS).items()}), flush=True)
if "differ" in sys.argv:
    print(json.dumps(refusal(1 + RANK)), flush=True)
dist.destroy_process_group()
