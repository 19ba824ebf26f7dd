"""The measurements in one rank of ``benchmarks.distributed``: collectives over hccl and over gloo, and steps of synchronised batch norm."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch_aclnn
import torch
import torch.distributed as dist
from torch import nn
from torch_aclnn.autograd._process_group import all_gather

from benchmarks.timing import alternate

MIB = 2**20
IN_A_ROW = 4


@dataclass(frozen=True)
class Collective:
    """A collective and the bytes of its tensor; for all_gather and reduce_scatter, of the tensor of all ranks together."""

    name: str
    bytes: int
    dtype: str = "float32"


@dataclass(frozen=True)
class Norm:
    """A layer on an input of this shape and type; its parameters are float32."""

    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """Type and shape."""
        return f"{self.dtype} {'x'.join(map(str, self.shape))}"


@dataclass(frozen=True)
class CollectiveTime:
    """Seconds of a call with its synchronisation, and per call of several calls before one synchronisation."""

    case: Collective
    ranks: int
    compared: bool
    hccl: float
    gloo: float
    hccl_in_a_row: float
    gloo_in_a_row: float

    @property
    def throughput_ratio(self) -> float:
        """Bytes per second over hccl as a multiple of gloo's."""
        return self.gloo_in_a_row / self.hccl_in_a_row

    @property
    def overhead(self) -> float:
        """Seconds that a call takes longer over hccl."""
        return self.hccl - self.gloo


@dataclass(frozen=True)
class NormTime:
    """Seconds of a forward and backward of our layer, and of torch's as torch_npu runs it."""

    case: Norm
    ranks: int
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """Our time as a multiple of theirs."""
        return self.ours / self.theirs


def measure(
    collectives: Sequence[Collective], norms: Sequence[Norm], compared: bool, rounds: int
) -> tuple[list[CollectiveTime], list[NormTime]]:
    """Time everything in this rank; all ranks do so together."""
    gloo = dist.new_group(backend="gloo")
    return [_time_collective(case, gloo, compared, rounds) for case in collectives], [_time_norm(case, rounds) for case in norms]


def rounds_for(size: int, rounds: int) -> int:
    """Return the number of rounds for a tensor of this size: fewer for large ones, whose rounds take long."""
    return rounds if size <= MIB else max(2, rounds // 2 if size <= 4 * MIB else rounds // 4)


def _time_collective(case: Collective, gloo: dist.ProcessGroup, compared: bool, rounds: int) -> CollectiveTime:
    over_hccl, over_gloo = _call(case, "npu", None), _call(case, "cpu", gloo)
    batches = [
        *(_batch(over_hccl, count, torch.npu.synchronize) for count in (1, IN_A_ROW)),
        *(_batch(over_gloo, count) for count in (1, IN_A_ROW)),
    ]
    hccl, hccl_row, gloo_one, gloo_row = alternate(batches, [1] * len(batches), rounds_for(case.bytes, rounds))
    return CollectiveTime(case, dist.get_world_size(), compared, hccl, gloo_one, hccl_row / IN_A_ROW, gloo_row / IN_A_ROW)


def _batch(call: Callable[[], Any], count: int, finish: Callable[[], Any] | None = None) -> Callable[[], None]:
    """Return a function that makes `count` calls and then waits for the device."""

    def batch() -> None:
        for _ in range(count):
            call()
        if finish is not None:
            finish()

    return batch


def _call(case: Collective, device: str, group: dist.ProcessGroup | None) -> Callable[[], Any]:
    ranks, dtype = dist.get_world_size(), getattr(torch, case.dtype)
    of_each = max(1, case.bytes // dtype.itemsize // ranks)
    part = torch.zeros(of_each, dtype=dtype, device=device)
    if case.name == "AllReduce":
        whole = torch.zeros(max(1, case.bytes // dtype.itemsize), dtype=dtype, device=device)
        return lambda: dist.all_reduce(whole, group=group)
    whole = torch.zeros(of_each * ranks, dtype=dtype, device=device)
    if case.name == "AllGather":
        return lambda: all_gather(whole, part, group)
    # torch 2.13 renamed the function, and warns of the older name.
    scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)
    return lambda: scatter(part, whole, group=group)


def _time_norm(case: Norm, rounds: int) -> NormTime:
    input = torch.randn(case.shape, dtype=getattr(torch, case.dtype), device="npu").requires_grad_()
    gradient = torch.ones_like(input)
    channels = case.shape[1]
    layers: list[nn.Module] = [torch_aclnn.nn.SyncBatchNorm(channels), nn.SyncBatchNorm(channels)]
    steps = [_batch(_step(layer.npu(), input, gradient), 1, torch.npu.synchronize) for layer in layers]
    return NormTime(case, dist.get_world_size(), *alternate(steps, [1, 1], rounds_for(input.nbytes, rounds)))


def _step(layer: nn.Module, input: torch.Tensor, gradient: torch.Tensor) -> Callable[[], None]:
    def step() -> None:
        layer.zero_grad()
        input.grad = None
        layer(input).backward(gradient)

    return step
