"""Batch norm, of one process's batch or of that of a group of processes."""

from typing import Any

import torch
from torch_aclnn import _C
from torch import Tensor
from torch.autograd import forward_ad
from torch_aclnn.autograd._batch_norm import Arguments, composed_batch_norm, train_batch_norm
from torch_aclnn.autograd._process_group import ProcessGroup
from torch_aclnn.functional import _arguments, _groups

__all__ = ["batch_norm", "sync_batch_norm"]

# Kept here, because torch_aclnn.patch() replaces the function.
_torchs = torch.nn.functional.batch_norm

# A limit of the operator's document. Beyond it torch's own path is taken.
_MAX_RANK = 8


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel, as :func:`torch.nn.functional.batch_norm`; in training the gradient is ``aclnnBatchNormElemtBackward``.

    In evaluation, for a batch without elements, and beyond the operator's 8 dimensions, it is torch's own function. In forward mode on
    ``npu``, and on a product that does not offer the entry point, it is composed of operators that have derivatives, because torch's own
    derivatives in forward mode, second derivatives and those of compiled code are wrong there.

    Args:
        input: (N, C) or (N, C, ...); float32, float16, bfloat16 (and float64 on ``cpu``).
        running_mean: (C) or None; updated in training.
        running_var: (C) or None; updated in training, with the unbiased variance.
        weight: (C) or None, which means ones.
        bias: (C) or None, which means zeros.
        training: use the batch's own statistics.
        momentum: how much of the batch goes into the running statistics.
        eps: added to the variance; more than 0 in training.

    Returns:
        A tensor of input's shape and dtype.

    Raises:
        TypeError: an argument of another type, or a tensor whose dtype is not floating-point.
        ValueError: a rank, shape, device or eps that does not fit, only one value per channel in training, or no running statistics in
            evaluation.
        RuntimeError: in training :func:`torch.vmap` maps the input and not the running statistics.

    Example:
        >>> torch_aclnn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True, eps=3.0)
        tensor([[-0.5000],
                [ 0.5000]])

    """
    if not torch.compiler.is_compiling():
        result = _C.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
        if result is not NotImplemented:
            return result
    return _batch_norm("batch_norm", input, running_mean, running_var, weight, bias, training, momentum, eps)


def sync_batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    process_group: ProcessGroup | None = None,
) -> Tensor:
    """Normalise each channel by the batch that the processes of a group hold together: :func:`batch_norm` with a process group.

    In training each process calls it with its part of the batch, in the same order as the others. Parts may differ in size and be empty.
    There is one collective in the forward and, where the input takes a gradient, one in the backward, which has to run in every process or
    in none. The gradient of the input is that of the sum of what all processes differentiate. Those of weight and bias are of this
    process's part: :class:`torch.nn.parallel.DistributedDataParallel` averages them. Second derivatives hold too.

    In evaluation, for a group of one, and where :mod:`torch.distributed` is not initialised, it is :func:`batch_norm`. On devices other
    than ``npu`` and ``cpu`` it is what :class:`torch.nn.SyncBatchNorm` does there. :func:`torch.compile` leaves it to eager mode.

    Args:
        input: (N, C) or (N, C, ...) of at most 8 dimensions; N may be 0.
        running_mean: as for :func:`batch_norm`; updated in every process, by the statistics of the joint batch.
        running_var: as for :func:`batch_norm`, likewise.
        weight: as for :func:`batch_norm`.
        bias: as for :func:`batch_norm`.
        training: as for :func:`batch_norm`.
        momentum: as for :func:`batch_norm`.
        eps: as for :func:`batch_norm`.
        process_group: the processes; None means all (the default group). Its backend has to serve the input's device: ``hccl`` for ``npu``,
            ``gloo`` for ``cpu``.

    Returns:
        A tensor of input's shape and dtype.

    Raises:
        TypeError: as for :func:`batch_norm`, or a process group of another type.
        ValueError: as for :func:`batch_norm`, more than 8 dimensions, a device that the process group does not serve, or only one value per
            channel in all processes.
        RuntimeError: as for :func:`batch_norm`.
        NotImplementedError: between processes in forward-mode differentiation, under :func:`torch.func.functionalize`, or recorded by
            :func:`torch.jit.trace`.

    Example:
        >>> torch_aclnn.functional.sync_batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True, eps=3.0)
        tensor([[-0.5000],
                [ 0.5000]])

    """
    group = _groups.of_several("sync_batch_norm", process_group)
    return _batch_norm("sync_batch_norm", input, running_mean, running_var, weight, bias, training, momentum, eps, group=group)


def _batch_norm(name: str, *arguments: Any, group: ProcessGroup | None = None) -> Tensor:
    call = Arguments(*arguments)
    _arguments.floating(name, "input", call.input)
    if call.input.dim() < 2:
        _arguments.refuse(name, "input", "2 dimensions or more", f"shape {tuple(call.input.shape)}")
    channels = call.input.shape[1]
    training = _arguments.boolean(name, "training", call.training)
    call = Arguments(*call[:5], training, call.momentum, call.eps)
    for parameter in ("running_mean", "running_var", "weight", "bias"):
        value = getattr(call, parameter)
        if value is not None:
            if _arguments.floating(name, parameter, value).shape != (channels,):
                _arguments.refuse(name, parameter, f"shape ({channels},) for input {tuple(call.input.shape)}", tuple(value.shape))
            _arguments.same_device(name, parameter, value, call.input)
        elif not training and parameter.startswith("running"):
            _arguments.refuse(name, parameter, "a Tensor in evaluation (training=False)", value)
    _arguments.number(name, "momentum", call.momentum)
    _arguments.number(name, "eps", call.eps)
    if training and call.eps <= 0:
        _arguments.refuse(name, "eps", "a positive number in training", call.eps)
    if training:
        _refuse_unmapped(name, call)
    if training and group is not None:
        return _across_processes(group, call)
    elements = call.input.numel()
    if training and elements == channels != 0:
        _arguments.refuse(name, "input", "more than one value per channel in training", f"shape {tuple(call.input.shape)}")
    if training and call.input.device.type == "npu" and elements > 0 and _is_torchs_wrong():
        return composed_batch_norm(call)
    within_limits = training and elements > 0 and call.input.dim() <= _MAX_RANK
    is_ours = _arguments.is_ours("batch_norm_elemt", within_limits, *call[:5])
    return train_batch_norm(call) if is_ours else _torchs(*call)


def _refuse_unmapped(function: str, call: Arguments) -> None:
    """Refuse a mapped input with running statistics that are not mapped, which all its elements would update, as torch does."""
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return
    for parameter, value in (("running_mean", call.running_mean), ("running_var", call.running_var)):
        if value is not None and not _levels(call.input) <= _levels(value):
            raise RuntimeError(
                f"{function}: {parameter}: expected a tensor that torch.vmap maps as it maps input, because it is updated in place, got "
                "one for all elements; a module that does not need evaluation takes `track_running_stats=False`"
            )


def _levels(tensor: Tensor) -> set[int]:
    """Return the levels of :func:`torch.vmap` at which a tensor is mapped."""
    functorch = torch._C._functorch
    levels: set[int] = set()
    while functorch.is_functorch_wrapped_tensor(tensor):
        if functorch.is_batchedtensor(tensor):
            levels.add(functorch.maybe_get_level(tensor))
        tensor = functorch.get_unwrapped(tensor)
    return levels


def _is_torchs_wrong() -> bool:
    """Return whether our operator cannot be used on ``npu`` and torch's own derivatives there may be wrong."""
    if forward_ad._current_level >= 0:
        return True
    return _arguments.is_for_functions() and not _arguments.is_offered("batch_norm_elemt")


# The sizes of the other processes' parts are read on the host. torch.compiler.disable does the same, but imports the compiler here, which
# takes longer than the rest of the package.
@torch._disable_dynamo  # type: ignore[attr-defined]
def _across_processes(group: ProcessGroup, call: Arguments) -> Tensor:
    name, input = "sync_batch_norm", call.input
    if input.shape[1] == 0 or input.dim() > _MAX_RANK:
        expected = f"at least one channel and at most {_MAX_RANK} dimensions"
        _arguments.refuse(name, "input", expected, f"shape {tuple(input.shape)}")
    _groups.serves(name, group, input)
    if not _arguments.is_for_functions():
        raise NotImplementedError(
            f"{name}: forward-mode differentiation, torch.func.functionalize and torch.jit.trace are not implemented for a process group "
            "of several processes"
        )
    if input.device.type not in ("npu", "cpu"):
        return _groups.torchs_sync_batch_norm(call, group)
    return train_batch_norm(call, group)
