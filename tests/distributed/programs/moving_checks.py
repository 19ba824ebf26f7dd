"""Collectives that move data."""

import torch
import torch.distributed as dist
from check_values import MOVED, RANK, RANKS, SIZES, Check, values


def broadcast(dtype: str, count: int) -> Check:
    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        if device == "cpu":
            return [values(count, dtype, RANKS - 1)]
        tensor = values(count, dtype).to(device)
        dist.broadcast(tensor, RANKS - 1, group)
        return [tensor]

    return check


def all_gather(dtype: str, count: int) -> Check:
    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        if device == "cpu":
            return [values(count, dtype, rank) for rank in range(RANKS)]
        outputs = [torch.empty(count, dtype=getattr(torch, dtype), device=device) for _ in range(RANKS)]
        dist.all_gather(outputs, values(count, dtype).to(device), group)
        return outputs

    return check


def all_gather_into_tensor(dtype: str, count: int) -> Check:
    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        if device == "cpu":
            return [torch.cat([values(count, dtype, rank) for rank in range(RANKS)])]
        output = torch.empty(count * RANKS, dtype=getattr(torch, dtype), device=device)
        dist.all_gather_into_tensor(output, values(count, dtype).to(device), group)
        return [output]

    return check


def scatter(dtype: str, count: int) -> Check:
    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        if device == "cpu":
            return [values(count, dtype, RANK)]
        output = torch.empty(count, dtype=getattr(torch, dtype), device=device)
        dist.scatter(output, [values(count, dtype, rank).to(device) for rank in range(RANKS)] if RANK == 0 else None, 0, group)
        return [output]

    return check


def all_to_all_single(dtype: str, count: int) -> Check:
    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        if device == "cpu":
            return [torch.cat([values(count * RANKS, dtype, rank)[RANK * count : (RANK + 1) * count] for rank in range(RANKS)])]
        output = torch.empty(count * RANKS, dtype=getattr(torch, dtype), device=device)
        dist.all_to_all_single(output, values(count * RANKS, dtype).to(device), group=group)
        return [output]

    return check


def uneven_all_to_all(dtype: str) -> Check:
    """Rank r sends r + s elements to rank s, and 0 to itself if it is rank 0."""

    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        sizes = [RANK + other for other in range(RANKS)]
        if device == "cpu":
            begins = [sum(rank + other for other in range(RANK)) for rank in range(RANKS)]
            full = [values(sum(rank + other for other in range(RANKS)), dtype, rank) for rank in range(RANKS)]
            return [torch.cat([full[rank][begins[rank] : begins[rank] + rank + RANK] for rank in range(RANKS)])]
        output = torch.empty(sum(sizes), dtype=getattr(torch, dtype), device=device)
        dist.all_to_all_single(output, values(sum(sizes), dtype).to(device), sizes, sizes, group)
        return [output]

    return check


def lists(name: str) -> Check:
    """Check the forms with lists of tensors, whose sizes differ."""

    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        sizes = [1 + rank for rank in range(RANKS)]
        if name == "all_to_all":
            if device == "cpu":
                return [values(1 + RANK, "float32", rank) for rank in range(RANKS)]
            outputs = [torch.empty(1 + RANK, device=device) for _ in range(RANKS)]
            dist.all_to_all(outputs, [values(size, "float32").to(device) for size in sizes], group)
            return outputs
        if name == "all_gather":
            if device == "cpu":
                return [values(size, "float32", rank) for rank, size in enumerate(sizes)]
            outputs = [torch.empty(size, device=device) for size in sizes]
            dist.all_gather(outputs, values(sizes[RANK], "float32").to(device), group)
            return outputs
        if device == "cpu":
            return [sum(values(sizes[RANK], "float32", rank) for rank in range(RANKS))]
        output = torch.empty(sizes[RANK], device=device)
        dist.reduce_scatter(output, [values(size, "float32").to(device) for size in sizes], group=group)
        return [output]

    return check


def gather(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    outputs = [torch.empty(3, device=device) for _ in range(RANKS)]
    dist.gather(values(3, "float32").to(device), outputs if RANK == 0 else None, 0, group)
    return outputs if RANK == 0 else []


def objects(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    gathered: list[object] = [None] * RANKS
    dist.all_gather_object(gathered, {"rank": RANK}, group)
    return [torch.tensor([entry["rank"] for entry in gathered])]  # type: ignore[index]


CHECKS: dict[str, Check] = {
    **{f"broadcast-{dtype}": broadcast(dtype, 7) for dtype in MOVED},
    **{f"broadcast-float32-{count}": broadcast("float32", count) for count in SIZES},
    **{f"all_gather-{dtype}": all_gather(dtype, 7) for dtype in ("float32", "bfloat16", "int64", "bool")},
    **{f"all_gather_into_tensor-{dtype}": all_gather_into_tensor(dtype, 7) for dtype in MOVED},
    **{f"all_gather_into_tensor-float32-{count}": all_gather_into_tensor("float32", count) for count in SIZES},
    **{f"scatter-{dtype}": scatter(dtype, 7) for dtype in ("float32", "bfloat16", "int64")},
    **{f"all_to_all_single-{dtype}": all_to_all_single(dtype, 7) for dtype in MOVED},
    **{f"all_to_all_single-float32-{count}": all_to_all_single("float32", count) for count in SIZES},
    **{f"uneven_all_to_all-{dtype}": uneven_all_to_all(dtype) for dtype in ("float32", "float16", "int64")},
    **{f"list-{name}": lists(name) for name in ("all_to_all", "all_gather", "reduce_scatter")},
    "gather": gather,
    "objects": objects,
}  # fmt: skip
