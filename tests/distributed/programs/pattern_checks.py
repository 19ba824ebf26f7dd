"""Messages, groups, and how programs use collectives."""

import torch
import torch.distributed as dist
from check_values import RANK, RANKS, Check, values


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


def subgroup(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    part = dist.new_group(list(range(RANKS - 1)), backend="hccl" if device == "npu" else "gloo")
    tensor = values(6, "float32").to(device)
    if RANK < RANKS - 1:
        dist.all_reduce(tensor, group=part)
    return [tensor]


def asynchronous(device: str, group: dist.ProcessGroup | None) -> list[torch.Tensor]:
    """Several collectives at a time, whose results are used right after wait()."""
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


CHECKS: dict[str, Check] = {
    "both_ways": both_ways,
    "along_the_ranks": along_the_ranks,
    "batch_isend_irecv": batch,
    "coalesced": coalesced,
    "subgroup": subgroup,
    "asynchronous": asynchronous,
    "every_second": every_second,
}  # fmt: skip
