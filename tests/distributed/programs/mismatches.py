"""Ranks that do not do the same."""

import os
from collections.abc import Callable

import torch
import torch.distributed as dist
from fault_reports import RANK, RANKS, leave, meet, ones, report, show, until_told

Calls = tuple[Callable[[], object], Callable[[], object]]  # the calls of rank 0 and of rank 1

MISMATCHES: dict[str, Calls] = {
    "kind": (lambda: dist.all_reduce(ones()), lambda: dist.broadcast(ones(), 0)),
    "dtype": (lambda: dist.all_reduce(ones()), lambda: dist.all_reduce(ones(dtype=torch.float16))),
    "count": (lambda: dist.all_reduce(ones(4)), lambda: dist.all_reduce(ones(5))),
    "root": (lambda: dist.broadcast(ones(), 0), lambda: dist.broadcast(ones(), 1)),
    "op": (lambda: dist.all_reduce(ones()), lambda: dist.all_reduce(ones(), dist.ReduceOp.MAX)),
    "split": (
        lambda: dist.all_to_all_single(ones(RANKS), ones(RANKS), [1] * RANKS, [1] * RANKS),
        lambda: dist.all_to_all_single(ones(2 * RANKS), ones(RANKS), [2] * RANKS, [1] * RANKS),
    ),
    "message": (lambda: until_told(lambda: dist.send(ones(4), 1)), lambda: dist.recv(ones(5), 0)),
    "batch": (
        lambda: until_told(lambda: batch([dist.P2POp(dist.isend, ones(4), 1)])),
        lambda: batch([dist.P2POp(dist.irecv, ones(4, torch.float16), 0)]),
    ),
}


def batch(operations: list[dist.P2POp]) -> None:
    for work in dist.batch_isend_irecv(operations):
        work.wait()


def mismatches() -> None:
    """Each mismatch is an error; the group can be used afterwards."""
    meet()
    for calls in MISMATCHES.values():
        report(calls[RANK])
    tensor = ones()
    dist.all_reduce(tensor)
    show(after=tensor.tolist())
    dist.destroy_process_group()


def kinds() -> None:
    """A collective on one rank and a message on the other, on the same communicator, which is lost by that."""
    group = dist.new_group(backend="hccl")
    others: dict[str, Callable[[], object]] = {
        "receive": lambda: dist.recv(ones(), 0, group),
        "send": lambda: until_told(lambda: dist.send(ones(), 0, group)),
        "batch": lambda: batch([dist.P2POp(dist.irecv, ones(), 0, group)]),
    }

    def all_reduce() -> None:
        dist.all_reduce(ones(), group=group)

    for other in others.values():
        group = dist.new_group(backend="hccl")
        meet(group)
        report(other if RANK == 1 else all_reduce)
        meet()
    leave()


def both_receive() -> None:
    meet()
    report(lambda: dist.recv(ones(), 1 - RANK))
    leave()


def unchecked() -> None:
    """TORCH_ACLNN_HOST_CHECK_COLLECTIVES is 0: whatever comes of it, no rank hangs or writes where it must not."""
    short, long = 1000, 1500
    counts: dict[str, Callable[[torch.Tensor], object]] = {
        "all_reduce": lambda tensor: dist.all_reduce(tensor),
        "broadcast": lambda tensor: dist.broadcast(tensor, 1),
        "message": lambda tensor: dist.recv(tensor, 1) if RANK == 0 else dist.send(tensor, 0),
    }
    meet()
    block = torch.full((4 * long,), 7.0, device="npu")
    count = short if RANK == 0 else long
    report(lambda: counts[os.environ["FAULT_CALL"]](block[long : long + count]))
    memory = block.tolist()
    show(around=sorted({*memory[:long], *memory[long + count :]}))
    leave()
