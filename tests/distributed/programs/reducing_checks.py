"""Collectives that reduce."""

import torch
import torch.distributed as dist
from check_values import LARGE, OPS, RANK, RANKS, REDUCED, SIZES, Check, values


def reduced_by_gloo(tensor: torch.Tensor, op: str, group: dist.ProcessGroup | None) -> torch.Tensor:
    """Return the reduction over the ranks; gloo has neither int16 nor bool, for which a wider type gives the same."""
    wider = tensor.to(torch.int32) if tensor.dtype in (torch.int16, torch.bool) else tensor.clone()
    dist.all_reduce(wider, OPS[op], group)
    return wider.to(tensor.dtype)


def all_reduce(dtype: str, op: str, count: int) -> Check:
    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        tensor = values(count, dtype).to(device)
        if device == "cpu":
            return [reduced_by_gloo(tensor, op, group)]
        dist.all_reduce(tensor, OPS[op], group)
        return [tensor]

    return check


def reduce(dtype: str, op: str, count: int) -> Check:
    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        tensor = values(count, dtype).to(device)
        dist.reduce(tensor, 1, OPS[op], group)
        return [tensor] if RANK == 1 else []  # the result on other ranks is not defined

    return check


def reduce_scatter_tensor(dtype: str, op: str, count: int) -> Check:
    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        if device == "cpu":
            return [reduced_by_gloo(values(count * RANKS, dtype), op, group)[RANK * count : (RANK + 1) * count]]
        output = torch.empty(count, dtype=getattr(torch, dtype), device=device)
        dist.reduce_scatter_tensor(output, values(count * RANKS, dtype).to(device), OPS[op], group)
        return [output]

    return check


def average(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    tensor = values(5, "float32").to(device)
    dist.all_reduce(tensor, dist.ReduceOp.AVG if device == "npu" else dist.ReduceOp.SUM, group)
    return [tensor if device == "npu" else tensor / RANKS]


def whole_numbers(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    """Halves are summed in float32: 2048 + 1 + ... is not lost on the way."""
    tensor = torch.tensor([2048.0 if RANK == 0 else 1.0], dtype=torch.float16, device=device)
    if device == "cpu":
        return [torch.tensor([2048.0 + RANKS - 1]).half()]
    dist.all_reduce(tensor, group=group)
    return [tensor]


CHECKS: dict[str, Check] = {
    **{f"all_reduce-{dtype}-{op}": all_reduce(dtype, op, 7) for dtype in (*REDUCED, "uint8", "bool") for op in OPS},
    **{f"all_reduce-float32-sum-{count}": all_reduce("float32", "sum", count) for count in SIZES},
    **{f"reduce-{dtype}-{op}": reduce(dtype, op, 7) for dtype in ("float32", "bfloat16", "int8") for op in OPS},
    "all_reduce-float32-sum-large": all_reduce("float32", "sum", LARGE),
    "all_reduce-bfloat16-sum-large": all_reduce("bfloat16", "sum", LARGE),
    "all_reduce-int16-max-large": all_reduce("int16", "max", LARGE),
    "reduce_scatter-float32-sum-large": reduce_scatter_tensor("float32", "sum", LARGE // 2),
    **{f"reduce_scatter-{dtype}-{op}": reduce_scatter_tensor(dtype, op, 7) for dtype in REDUCED for op in OPS},
    **{f"reduce_scatter-float32-sum-{count}": reduce_scatter_tensor("float32", "sum", count) for count in SIZES},
    "average": average,
    "float16 summed in float32": whole_numbers,
}  # fmt: skip
