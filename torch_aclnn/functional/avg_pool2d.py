"""Average pooling."""

from collections.abc import Sequence

import torch
from torch_aclnn import _C
from torch import Tensor
from torch_aclnn.autograd.avg_pool2d import AvgPool2d
from torch_aclnn.functional import _arguments

__all__ = ["avg_pool2d"]

# Limits of the operator's document. Beyond them torch's own path is taken.
_MAX_DIVISOR = 255
_MAX_CHANNELS = 65535


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
    if not torch.compiler.is_compiling():
        result = _C.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        if result is not NotImplemented:
            return result
    name = "avg_pool2d"
    _arguments.tensor(name, "input", input, (3, 4))
    kernel = _arguments.ints(name, "kernel_size", kernel_size, 2, lowest=1)
    step = kernel if stride is None or _arguments.listed(stride) == () else _arguments.ints(name, "stride", stride, 2, lowest=1)
    pad = _arguments.ints(name, "padding", padding, 2, lowest=0)
    if pad[0] > kernel[0] // 2 or pad[1] > kernel[1] // 2:
        _arguments.refuse(name, "padding", f"at most half of kernel_size {kernel}", padding)
    height, width = input.shape[-2:]
    more = (step[0] - 1, step[1] - 1) if ceil_mode else (0, 0)  # where a last, partial window may begin
    if height + 2 * pad[0] + more[0] < kernel[0] or width + 2 * pad[1] + more[1] < kernel[1]:
        _arguments.refuse(name, "kernel_size", f"a window within input {tuple(input.shape)} and padding {pad}", kernel_size)
    divisor = None if divisor_override is None else _arguments.integer(name, "divisor_override", divisor_override)
    if divisor == 0 or (divisor is not None and abs(divisor) > _arguments.MAX_INT64):
        _arguments.refuse(name, "divisor_override", "None or a 64-bit integer other than 0", divisor_override)
    within_limits = (divisor is None or abs(divisor) <= _MAX_DIVISOR) and input.shape[-3] <= _MAX_CHANNELS
    run = _arguments.ours_or_torchs(name, AvgPool2d.call, AvgPool2d.forward, within_limits, input)
    return run(input, kernel, step, pad, ceil_mode, count_include_pad, divisor)
