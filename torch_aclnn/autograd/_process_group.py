"""The exchanges of synchronised batch norm with the other processes of a group."""

from typing import TYPE_CHECKING, Any, TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor
from torch_aclnn.autograd._function import Function

if TYPE_CHECKING:
    ProcessGroup: TypeAlias = dist.ProcessGroup
else:
    ProcessGroup = getattr(dist, "ProcessGroup", type(None))  # torch may have been built without torch.distributed


def gather(values: Tensor, group: ProcessGroup) -> Tensor:
    """Return the vectors of all processes, a row each, in the order of their ranks."""
    gathered = values.new_empty(group.size() * values.numel())
    all_gather(gathered, values, group)
    return gathered.view(group.size(), -1)


def all_gather(output: Tensor, input: Tensor, group: ProcessGroup | None) -> None:
    """Gather the inputs of all processes in one output, with the function that this version of torch has."""
    if hasattr(dist, "all_gather_single"):
        dist.all_gather_single(output, input, group)
    else:  # torch before 2.13 has only the older name, and 2.13 warns of it
        dist.all_gather_into_tensor(output, input, group)


def sum_over_processes(group: ProcessGroup | None, *values: Tensor) -> tuple[Tensor, ...]:
    """Return the sums of the vectors over the processes, in one collective; the vectors are of one size."""
    return values if group is None else SumOverProcesses.call(group, *values)


class SumOverProcesses(Function):
    """(group, *values) -> their sums over the processes.

    The gradient of a sum is the sum of the gradients that all processes have for it, so every process takes part in the backward too.
    """

    @staticmethod
    def forward(group: ProcessGroup, *values: Tensor) -> tuple[Tensor, ...]:
        """Reduce all in one collective."""
        packed = torch.cat(values, -1)
        if packed.device.type == "npu" and packed.dtype == torch.float64:  # HCCL moves float64, but does not reduce it
            packed = gather(packed.flatten(), group).sum(0).view_as(packed)
        else:
            dist.all_reduce(packed, group=group)
        return packed.chunk(len(values), -1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep the group."""
        ctx.group = inputs[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Reduce the gradients likewise."""
        return None, *SumOverProcesses.call(ctx.group, *gradients)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], group: ProcessGroup, *values: Tensor) -> tuple[tuple[Tensor, ...], Any]:
        """Sum tensors that have the mapped dimension, in every process."""
        mapped = [v.movedim(d, 0) if d is not None else v.expand(info.batch_size, -1) for v, d in zip(values, in_dims[1:], strict=True)]
        return SumOverProcesses.apply(group, *mapped), (0,) * len(values)
