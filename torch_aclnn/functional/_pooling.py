"""Average pooling, to windows and to a given size."""

from collections.abc import Sequence

import torch
from torch_aclnn import _C
from torch import Tensor
from torch_aclnn._operators import BY_NAME
from torch_aclnn.functional import _arguments
from torch_aclnn.functional._documentation import documented

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"]


@documented
def avg_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Average over windows, as :func:`torch.nn.functional.avg_pool1d`; the gradient is ``aclnnAvgPool2dBackward``, of planes of one row.

    Example:
        >>> torch_aclnn.functional.avg_pool1d(torch.arange(4.0).reshape(1, 4), 2)
        tensor([[0.5000, 2.5000]])

    """
    name = "avg_pool1d"
    _arguments.tensor(name, "input", input, (2, 3))
    kernel, step, pad = _arguments.windows(name, input, 1, kernel_size, stride, padding, ceil_mode)
    rows = avg_pool2d(input.unsqueeze(-2), (1, *kernel), (1, *step), (0, *pad), ceil_mode, count_include_pad)
    return rows.squeeze(-2)


@documented
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

    Example:
        >>> x = torch.arange(4.0).reshape(1, 1, 2, 2).requires_grad_()
        >>> torch_aclnn.functional.avg_pool2d(x, 2)
        tensor([[[[1.5000]]]], grad_fn=<AvgPool2dBackward>)

    """
    if not torch.compiler.is_compiling():
        result = _C.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        if result is not NotImplemented:
            return result
    return _avg_pool("avg_pool2d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@documented
def avg_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Average over windows, as :func:`torch.nn.functional.avg_pool3d`; the gradient is ``aclnnAvgPool3dBackward``.

    Example:
        >>> x = torch.arange(8.0).reshape(1, 2, 2, 2).requires_grad_()
        >>> torch_aclnn.functional.avg_pool3d(x, 2)
        tensor([[[[3.5000]]]], grad_fn=<AvgPool3dBackward>)

    """
    if not torch.compiler.is_compiling():
        result = _C.avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        if result is not NotImplemented:
            return result
    return _avg_pool("avg_pool3d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _avg_pool(
    name: str,
    input: Tensor,
    kernel_size: object,
    stride: object,
    padding: object,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    dims = BY_NAME[name].dims
    _arguments.tensor(name, "input", input, (dims + 1, dims + 2))
    kernel, step, pad = _arguments.windows(name, input, dims, kernel_size, stride, padding, ceil_mode)
    divisor = None if divisor_override is None else _arguments.integer(name, "divisor_override", divisor_override)
    if divisor == 0 or (divisor is not None and abs(divisor) > _arguments.MAX_INT64):
        _arguments.refuse(name, "divisor_override", "None or a 64-bit integer other than 0", divisor_override)
    # Limits of the 2-D operator's document. Beyond them torch's own path is taken.
    is_small = divisor is None or abs(divisor) <= _C.MAX_DIVISOR_OF_AVG_POOL2D
    within_limits = dims == 3 or (is_small and input.shape[-3] <= _C.MAX_CHANNELS_OF_AVG_POOL2D)
    return _arguments.run(name, within_limits, (input,), kernel, step, pad, ceil_mode, count_include_pad, divisor)


@documented
def adaptive_avg_pool1d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """Average to a given size, as :func:`torch.nn.functional.adaptive_avg_pool1d`.

    The gradient is ``aclnnAdaptiveAvgPool2dBackward``, of planes of one row.

    Example:
        >>> torch_aclnn.functional.adaptive_avg_pool1d(torch.arange(4.0).reshape(1, 4), 2)
        tensor([[0.5000, 2.5000]])

    """
    _arguments.tensor("adaptive_avg_pool1d", "input", input, (2, 3))
    size = _arguments.adaptive_size("adaptive_avg_pool1d", input, 1, output_size)
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, *size)).squeeze(-2)


@documented
def adaptive_avg_pool2d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """Average to a given size, as :func:`torch.nn.functional.adaptive_avg_pool2d`; the gradient is ``aclnnAdaptiveAvgPool2dBackward``.

    Example:
        >>> torch_aclnn.functional.adaptive_avg_pool2d(torch.arange(4.0).reshape(1, 2, 2), 1)
        tensor([[[1.5000]]])

    """
    result = NotImplemented if torch.compiler.is_compiling() else _C.adaptive_avg_pool2d(input, output_size)
    return _adaptive_avg_pool("adaptive_avg_pool2d", input, output_size) if result is NotImplemented else result


@documented
def adaptive_avg_pool3d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """Average to a given size, as :func:`torch.nn.functional.adaptive_avg_pool3d`; the gradient is ``aclnnAdaptiveAvgPool3dBackward``.

    Example:
        >>> torch_aclnn.functional.adaptive_avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[3.5000]]]])

    """
    result = NotImplemented if torch.compiler.is_compiling() else _C.adaptive_avg_pool3d(input, output_size)
    return _adaptive_avg_pool("adaptive_avg_pool3d", input, output_size) if result is NotImplemented else result


def _adaptive_avg_pool(name: str, input: Tensor, output_size: object) -> Tensor:
    dims = BY_NAME[name].dims
    _arguments.tensor(name, "input", input, (dims + 1, dims + 2))
    size = _arguments.adaptive_size(name, input, dims, output_size)
    return _arguments.run(name, 0 not in size, (input,), size)
