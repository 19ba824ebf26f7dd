"""Pooling, padding, unpooling and batch norm with the signatures of :mod:`torch.nn.functional` and gradients from aclnn entry points.

Tensors on ``npu`` take the entry points, tensors on ``cpu`` the same kernels without CANN's interface. Torch's own path, forward and
gradient, is taken on any other device, for arguments that torch accepts but the operator's document does not (on ``npu``, torch_npu's
gradient may have the same limits and refuse them), and for whatever is computed in forward mode (:func:`torch.func.jvp`,
:mod:`torch.autograd.forward_ad`) or recorded by :func:`torch.jit.trace`. :func:`torch.fx.symbolic_trace` records a call of the function as
it stands. Under :class:`torch.autocast` each function keeps its input's dtype, whatever the device.
Arguments that torch refuses too raise ValueError or TypeError; what only the operator can refuse (a dtype outside its list) raises
RuntimeError. Integers may be those of numpy.
"""

from collections.abc import Sequence

import torch
from torch_aclnn import _arguments
from torch import Tensor
from torch_aclnn.autograd import AdaptiveAvgPool2d, AvgPool2d, MaxUnpool3d, ReplicationPad2d
from torch_aclnn.autograd.batch_norm_elemt import train_batch_norm

__all__ = ["adaptive_avg_pool2d", "avg_pool2d", "batch_norm", "max_unpool3d", "replication_pad2d"]

# Limits of the operators' documents. Beyond them torch's own path is taken.
_MAX_DIVISOR = 255
_MAX_CHANNELS = 65535
_MAX_BATCH_NORM_RANK = 8
# bfloat16 is not listed, but goes through as another type of its width.
_UNPOOLED = frozenset((torch.float32, torch.float16, torch.float64, torch.bfloat16))

for _name in __all__:
    torch.fx.wrap(_name)


def avg_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Average over windows, as :func:`torch.nn.functional.avg_pool2d`; the gradient is ``aclnnAvgPool2dBackward``.

    The operator takes divisors from -255 to 255 and at most 65535 channels. Beyond that it is torch's own function.

    Args:
        input: (N, C, H, W) or (C, H, W); float32, float16, bfloat16 (and float64 on ``cpu``).
        kernel_size: rows and columns of a window; one number stands for both.
        stride: step between windows; ``kernel_size`` by default.
        padding: zeros around the input, at most half of ``kernel_size``.
        ceil_mode: count a last, partial window.
        count_include_pad: divide by the window's size with its padding, rather than without.
        divisor_override: divide by this instead; any number but 0.

    Returns:
        (N, C, oH, oW) or (C, oH, oW).

    Raises:
        TypeError: an argument of another type.
        ValueError: a rank or value outside these limits.

    Example:
        >>> x = torch.arange(4.0).reshape(1, 1, 2, 2).requires_grad_()
        >>> torch_aclnn.functional.avg_pool2d(x, 2)
        tensor([[[[1.5000]]]], grad_fn=<AvgPool2dBackward>)

    """
    name = "avg_pool2d"
    _arguments.tensor(name, "input", input, (3, 4))
    kernel = _arguments.ints(name, "kernel_size", kernel_size, 2, lowest=1)
    step = kernel if stride is None or _arguments.listed(stride) == () else _arguments.ints(name, "stride", stride, 2, lowest=1)
    pad = _arguments.ints(name, "padding", padding, 2, lowest=0)
    if pad[0] > kernel[0] // 2 or pad[1] > kernel[1] // 2:
        _arguments.refuse(name, "padding", f"at most half of kernel_size {kernel}", padding)
    divisor = None if divisor_override is None else _arguments.integer(name, "divisor_override", divisor_override)
    if divisor == 0 or (divisor is not None and abs(divisor) > _arguments.MAX_INT64):
        _arguments.refuse(name, "divisor_override", "None or a 64-bit integer other than 0", divisor_override)
    within_limits = (divisor is None or abs(divisor) <= _MAX_DIVISOR) and input.shape[-3] <= _MAX_CHANNELS
    run = _arguments.ours_or_torchs(AvgPool2d.call, AvgPool2d.forward, within_limits, input)
    return run(input, kernel, step, pad, ceil_mode, count_include_pad, divisor)


def adaptive_avg_pool2d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """Average to a given size, as :func:`torch.nn.functional.adaptive_avg_pool2d`; the gradient is ``aclnnAdaptiveAvgPool2dBackward``.

    Args:
        input: (N, C, H, W) or (C, H, W); float32, float16, bfloat16 (and float64 on ``cpu``).
        output_size: rows and columns of the result; one number stands for both, None keeps the input's. A result without elements is
            torch's own, because the entry point takes no such gradient.

    Returns:
        (N, C, oH, oW) or (C, oH, oW).

    Raises:
        TypeError: an argument of another type.
        ValueError: a rank other than 3 or 4, or a negative output size.

    Example:
        >>> torch_aclnn.functional.adaptive_avg_pool2d(torch.arange(4.0).reshape(1, 2, 2), 1)
        tensor([[[1.5000]]])

    """
    name = "adaptive_avg_pool2d"
    _arguments.tensor(name, "input", input, (3, 4))
    asked = _arguments.listed(output_size) or (output_size, output_size)
    if len(asked) != 2:
        _arguments.refuse(name, "output_size", "one integer or 2", output_size)
    sizes = [size if want is None else want for want, size in zip(asked, input.shape[-2:], strict=True)]
    size = _arguments.ints(name, "output_size", sizes, 2, lowest=0, highest=_arguments.MAX_INT64)
    run = _arguments.ours_or_torchs(AdaptiveAvgPool2d.call, AdaptiveAvgPool2d.forward, 0 not in size, input)
    return run(input, size)


def replication_pad2d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Repeat the edges, as ``torch.nn.functional.pad(..., mode="replicate")``; the gradient is ``aclnnReplicationPad2dBackward``.

    The operator takes left and right below W, top and bottom below H. Beyond that it is torch's own function.

    Args:
        input: (N, C, H, W) or (C, H, W); float16, bfloat16, float32, float64, complex64, complex128.
        padding: (left, right, top, bottom), or one number for all; a negative number crops.

    Returns:
        (N, C, H + top + bottom, W + left + right), or without N.

    Raises:
        TypeError: an argument of another type.
        ValueError: a rank other than 3 or 4, or a padded size below 1.

    Example:
        >>> torch_aclnn.functional.replication_pad2d(torch.tensor([[[1.0, 2.0]]]), (1, 1, 0, 0))
        tensor([[[1., 1., 2., 2.]]])

    """
    name = "replication_pad2d"
    _arguments.tensor(name, "input", input, (3, 4))
    pad = left, right, top, bottom = _arguments.edge_padding(name, "padding", padding, input)
    height, width = input.shape[-2:]
    within_limits = left < width and right < width and top < height and bottom < height
    run = _arguments.ours_or_torchs(ReplicationPad2d.call, ReplicationPad2d.forward, within_limits, input)
    return run(input, pad)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put pooled values back in their places, as :func:`torch.nn.functional.max_unpool3d`; the gradient is ``aclnnMaxUnpool3dBackward``.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        indices: int64 (or int32, which max_pool3d returns on ``npu``), of input's shape: where in its flattened output plane each
            element goes.
        kernel_size: the pooling's window; one number stands for depth, rows and columns.
        stride: the pooling's step; ``kernel_size`` by default.
        padding: the pooling's padding.
        output_size: the sizes of the result, all or the last three, where the pooling's arguments leave a choice.

    Returns:
        (N, C, oD, oH, oW) or (C, oD, oH, oW), zero where no element went.

    Raises:
        TypeError: an argument of another type.
        ValueError: a rank, shape or value that does not fit.
        RuntimeError: an index outside its plane; on ``npu`` at the next synchronisation.

    Example:
        >>> x = torch.tensor([[[[5.0]]]])
        >>> torch_aclnn.functional.max_unpool3d(x, torch.tensor([[[[2]]]]), (1, 1, 4))
        tensor([[[[0., 0., 5., 0.]]]])

    """
    name = "max_unpool3d"
    _arguments.tensor(name, "input", input, (4, 5))
    _arguments.tensor(name, "indices", indices, (input.dim(),))
    if indices.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name}: indices: expected dtype torch.int64 or torch.int32, got {indices.dtype}")
    if indices.shape != input.shape:
        _arguments.refuse(name, "indices", f"the shape of input, {tuple(input.shape)}", tuple(indices.shape))
    kernel = _arguments.ints(name, "kernel_size", kernel_size, 3, lowest=1)
    step = _arguments.ints(name, "stride", kernel if stride is None else stride, 3, lowest=1)
    pad = _arguments.ints(name, "padding", padding, 3, lowest=0)
    size = _arguments.unpooled_size(name, input, kernel, step, pad, output_size)
    if indices.dtype != torch.int64:  # the condition keeps a needless conversion out of a traced graph
        indices = indices.long()
    run = _arguments.ours_or_torchs(MaxUnpool3d.call, MaxUnpool3d.forward, input.dtype in _UNPOOLED, input, indices)
    return run(input, indices, size, step, pad)


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
        ValueError: a rank, shape or eps that does not fit, or only one value per channel in training.

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
    statistics = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias))
    for parameter, value in statistics:
        if value is not None and _arguments.floating(name, parameter, value).shape != (channels,):
            _arguments.refuse(name, parameter, f"shape ({channels},)", tuple(value.shape))
    if training and eps <= 0:
        _arguments.refuse(name, "eps", "a positive number in training", eps)
    if training and input.numel() == channels != 0:
        _arguments.refuse(name, "input", "more than one value per channel in training", f"shape {tuple(input.shape)}")
    within_limits = training and input.numel() > 0 and input.dim() <= _MAX_BATCH_NORM_RANK
    run = _arguments.ours_or_torchs(train_batch_norm, torch.nn.functional.batch_norm, within_limits, input, *(t for _, t in statistics))
    return run(input, running_mean, running_var, weight, bias, training, momentum, eps)
