"""Trainings in parallel, with the memory that each needs: what is compared is a rank with its peers and one alone."""

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch_aclnn
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.nn.parallel import DistributedDataParallel

from support.parallel_training import data, network, own_part, sharded, tensor_parallel, train


def data_parallel() -> object:
    """Train without a second bucket: it depends on time whether the collective of a first one, which is replaced, still holds that."""
    return train(DistributedDataParallel(network(), find_unused_parameters=True), own_part)


def fully_sharded() -> object:
    return train(sharded(), own_part)


def tensor_parallel_layers() -> object:
    return train(tensor_parallel(init_device_mesh("npu", (dist.get_world_size(),))), Tensor.npu)


def split_and_sharded() -> object:
    mesh = init_device_mesh("npu", (dist.get_world_size() // 2, 2), mesh_dim_names=("data", "tensor"))
    model = tensor_parallel(mesh["tensor"])
    fully_shard(model, mesh=mesh["data"])
    return train(model, own_part)


def pipelined() -> object:
    """Run a stage of as many as there are ranks, all of one shape, with microbatches of 6 rows."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = nn.Linear(6, 6).npu()
    examples = {
        "input_args": torch.ones(6, 6, device="npu", requires_grad=rank > 0),
        "output_args": torch.ones(6, 6, device="npu", requires_grad=True),
    }
    stage = PipelineStage(model, rank, ranks, torch.device("npu", torch.npu.current_device()), **examples)
    schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=nn.functional.mse_loss)
    inputs = data()[0].npu()
    for _ in range(2):
        schedule.step(*([inputs] if rank == 0 else []), **({"target": inputs} if rank == ranks - 1 else {}))
    return schedule


def of_the_cpu() -> None:
    group = dist.new_group(backend="gloo")
    values, ranks = torch.ones(3), dist.get_world_size()
    for _ in range(2):
        dist.all_reduce(values, group=group)
    objects: list[Any] = [None] * ranks
    dist.all_gather_object(objects, {"ranks": ranks}, group=group)
    assert objects == [{"ranks": ranks}] * ranks
    dist.monitored_barrier(group)
    assert values.tolist() == [ranks**2] * 3


KINDS: list[Callable[[], object]] = [fully_sharded, tensor_parallel_layers, split_and_sharded, pipelined, data_parallel, of_the_cpu]


def measure() -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Run all kinds, and return the memory that each holds, and the greatest that it had, and what was communicated."""
    gc.freeze()  # what the imports have made need not be searched again and again
    memory = list(_memory())
    # A communicator without a name from torch_npu has one of its own in each run.
    moved = [
        (each.communicator if each.communicator.startswith("group_name_") else "", each.name, each.ranks, each.calls, each.bytes)
        for each in torch_aclnn.host.statistics().collectives
    ]
    return memory, moved


def _memory() -> Iterator[tuple[object, ...]]:
    for kind in KINDS:
        before = _allocated()
        torch.npu.reset_peak_memory_stats()
        held = kind()
        # The peak of the others depends on how soon the memory of a collective is free again.
        peak = torch.npu.max_memory_allocated() - before if kind is fully_sharded else None
        yield kind.__name__, _allocated() - before, peak
        del held


def _allocated() -> int:
    """Return what is allocated when all that can be freed has been.

    A thread of torch_npu lets go of what a collective has used, a moment after the collective has ended.
    """
    readings: list[int] = []
    while len(readings) < 4 or len(set(readings[-4:])) > 1:
        time.sleep(0.05)
        gc.collect()
        torch.npu.synchronize()
        torch.npu.empty_cache()
        readings.append(torch.npu.memory_allocated())
    return readings[-1]
