"""The process group of a function that communicates: which one is meant, and whether it can serve the call."""

import torch
import torch.distributed as dist
from torch import Tensor
from torch_aclnn.autograd._batch_norm import Arguments
from torch_aclnn.autograd._process_group import ProcessGroup
from torch_aclnn.functional import _arguments


def of_several(function: str, process_group: object) -> ProcessGroup | None:
    """Return the group, the default one if it is None; return None if this process is alone in it."""
    if process_group is not None and not isinstance(process_group, ProcessGroup):
        expected = "a torch.distributed.ProcessGroup that this process belongs to, or None"
        raise TypeError(f"{function}: process_group: expected {expected}, got {process_group!r}")
    if not (dist.is_available() and dist.is_initialized()):
        return None
    group = dist.group.WORLD if process_group is None else process_group
    return group if group is not None and group.size() > 1 else None


def serves(function: str, group: ProcessGroup, input: Tensor) -> None:
    """Refuse an input on a device for which the group has no backend."""
    served = sorted({device.type for device in group._device_types})
    if input.device.type not in served:
        _arguments.refuse(function, "input", f"a device that process_group serves ({', '.join(served)})", input.device)


def torchs_sync_batch_norm(call: Arguments, group: ProcessGroup) -> Tensor:
    """Return what :class:`torch.nn.SyncBatchNorm` computes in training on a device of torch's own."""
    function = torch.nn.modules.batchnorm.sync_batch_norm  # type: ignore[attr-defined]
    statistics = call.running_mean, call.running_var
    return function.apply(call.input, call.weight, call.bias, *statistics, call.eps, call.momentum, group, group.size())
