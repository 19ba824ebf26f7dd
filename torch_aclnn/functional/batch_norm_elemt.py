"""Batch norm."""

import torch
from torch import Tensor
from torch_aclnn.autograd.batch_norm_elemt import train_batch_norm
from torch_aclnn.functional import _arguments

__all__ = ["batch_norm"]

# Bound once, because torch_aclnn.patch() puts another function in its place.
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

    In evaluation, for a batch without elements, and beyond the operator's 8 dimensions, it is torch's own function.

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

    Example:
        >>> torch_aclnn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True, eps=3.0)
        tensor([[-0.5000],
                [ 0.5000]])

    """
    name = "batch_norm"
    _arguments.floating(name, "input", input)
    if input.dim() < 2:
        _arguments.refuse(name, "input", "2 dimensions or more", f"shape {tuple(input.shape)}")
    channels = input.shape[1]
    _arguments.boolean(name, "training", training)
    statistics = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias))
    for parameter, value in statistics:
        if value is not None:
            if _arguments.floating(name, parameter, value).shape != (channels,):
                _arguments.refuse(name, parameter, f"shape ({channels},) for input {tuple(input.shape)}", tuple(value.shape))
            _arguments.same_device(name, parameter, value, input)
        elif not training and parameter.startswith("running"):
            _arguments.refuse(name, parameter, "a Tensor in evaluation (training=False)", value)
    _arguments.number(name, "momentum", momentum)
    _arguments.number(name, "eps", eps)
    if training and eps <= 0:
        _arguments.refuse(name, "eps", "a positive number in training", eps)
    if training and input.numel() == channels != 0:
        _arguments.refuse(name, "input", "more than one value per channel in training", f"shape {tuple(input.shape)}")
    within_limits = training and input.numel() > 0 and input.dim() <= _MAX_RANK
    run = _arguments.ours_or_torchs(train_batch_norm, _torchs, within_limits, input, *(t for _, t in statistics))
    return run(input, running_mean, running_var, weight, bias, training, momentum, eps)
