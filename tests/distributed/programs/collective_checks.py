"""Each collective of torch.distributed: on npu the collective itself, on cpu what it should give, by gloo where gloo has it."""

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
        return [tensor] if RANK == 1 else []  # what the others have afterwards is not defined

    return check


def reduce_scatter_tensor(dtype: str, op: str, count: int) -> Check:
    def check(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
        if device == "cpu":
            return [reduced_by_gloo(values(count * RANKS, dtype), op, group)[RANK * count : (RANK + 1) * count]]
        output = torch.empty(count, dtype=getattr(torch, dtype), device=device)
        dist.reduce_scatter_tensor(output, values(count * RANKS, dtype).to(device), OPS[op], group)
        return [output]

    return check


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
    """The forms with lists of tensors, also of several sizes."""

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


def average(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    tensor = values(5, "float32").to(device)
    dist.all_reduce(tensor, dist.ReduceOp.AVG if device == "npu" else dist.ReduceOp.SUM, group)
    return [tensor if device == "npu" else tensor / RANKS]


def both_ways(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    """Two ranks each send before they receive."""
    received = torch.zeros(100000, device=device)
    if RANK > 1:
        return [received]
    sending = dist.isend(torch.full((100000,), float(RANK), device=device), 1 - RANK, group)
    receiving = dist.irecv(received, 1 - RANK, group)
    sending.wait()
    receiving.wait()
    return [received]


def along_the_ranks(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    """Each rank receives from the one before, adds itself and sends to the next."""
    tensor = torch.zeros(5, dtype=torch.bfloat16, device=device)
    if RANK > 0:
        dist.recv(tensor, RANK - 1, group)
    tensor += RANK
    if RANK < RANKS - 1:
        dist.send(tensor, RANK + 1, group)
    return [tensor]


def batch(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    received = [torch.empty(3 + rank, device=device) for rank in range(RANKS)]
    operations = []
    for other in range(RANKS):
        if other != RANK:
            operations.append(dist.P2POp(dist.isend, torch.full((3 + RANK,), float(RANK), device=device), other, group))
            operations.append(dist.P2POp(dist.irecv, received[other], other, group))
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return [tensor for rank, tensor in enumerate(received) if rank != RANK]


def coalesced(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    """Messages both ways in one group of HCCL's, in an order in which each would wait for the other."""
    other = RANK ^ 1
    if other >= RANKS:
        return []
    received = torch.zeros(4, device=device)
    if device == "cpu":
        return [received + other]
    backend = dist.distributed_c10d._get_default_group()._get_backend(torch.device("npu"))
    backend._start_coalescing()
    backend.recv([received], other, 0)
    backend.send([torch.full((4,), float(RANK), device=device)], other, 0)
    backend._end_coalescing().wait()
    return [received]


def gather(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    outputs = [torch.empty(3, device=device) for _ in range(RANKS)]
    dist.gather(values(3, "float32").to(device), outputs if RANK == 0 else None, 0, group)
    return outputs if RANK == 0 else []


def subgroup(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    part = dist.new_group(list(range(RANKS - 1)), backend="hccl" if device == "npu" else "gloo")
    tensor = values(6, "float32").to(device)
    if RANK < RANKS - 1:
        dist.all_reduce(tensor, group=part)
    return [tensor]


def asynchronous(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    """Several at a time, computed with after wait(), and a buffer that is used again at once."""
    tensors = [values(1000, "float32").to(device) + i for i in range(8)]
    works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
    return [tensor * 2 + 1 for tensor in tensors]


def every_second(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    """A view that is not contiguous, by way of a copy, as torch.distributed wants it."""
    base = values(20, "float32").to(device)
    view = base.view(4, 5).t()[1:3]
    part = view.contiguous()
    dist.all_reduce(part, group=group)
    view.copy_(part)
    return [base]


def whole_numbers(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    """Halves are summed in float32: 2048 + 1 + ... is not lost on the way."""
    tensor = torch.tensor([2048.0 if RANK == 0 else 1.0], dtype=torch.float16, device=device)
    if device == "cpu":
        return [torch.tensor([2048.0 + RANKS - 1]).half()]
    dist.all_reduce(tensor, group=group)
    return [tensor]


def objects(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    gathered: list[object] = [None] * RANKS
    dist.all_gather_object(gathered, {"rank": RANK}, group)
    return [torch.tensor([entry["rank"] for entry in gathered])]  # type: ignore[index]


CHECKS: dict[str, Check] = {
    **{f"all_reduce-{dtype}-{op}": all_reduce(dtype, op, 7) for dtype in (*REDUCED, "uint8", "bool") for op in OPS},
    **{f"all_reduce-float32-sum-{count}": all_reduce("float32", "sum", count) for count in SIZES},
    **{f"reduce-{dtype}-{op}": reduce(dtype, op, 7) for dtype in ("float32", "bfloat16", "int8") for op in OPS},
    **{f"reduce_scatter-{dtype}-{op}": reduce_scatter_tensor(dtype, op, 7) for dtype in REDUCED for op in OPS},
    "all_reduce-float32-sum-large": all_reduce("float32", "sum", LARGE),
    "all_reduce-bfloat16-sum-large": all_reduce("bfloat16", "sum", LARGE),
    "all_reduce-int16-max-large": all_reduce("int16", "max", LARGE),
    "reduce_scatter-float32-sum-large": reduce_scatter_tensor("float32", "sum", LARGE // 2),
    **{f"reduce_scatter-float32-sum-{count}": reduce_scatter_tensor("float32", "sum", count) for count in SIZES},
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
    "average": average,
    "both_ways": both_ways,
    "along_the_ranks": along_the_ranks,
    "batch_isend_irecv": batch,
    "coalesced": coalesced,
    "gather": gather,
    "subgroup": subgroup,
    "asynchronous": asynchronous,
    "every_second": every_second,
    "float16 summed in float32": whole_numbers,
    "objects": objects,
}  # fmt: skip
