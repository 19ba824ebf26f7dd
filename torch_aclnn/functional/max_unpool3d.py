"""Max unpooling."""

from collections.abc import Sequence

import torch
from torch_aclnn import _C
from torch import Tensor
from torch_aclnn.autograd.max_unpool3d import MaxUnpool3d
from torch_aclnn.functional import _arguments

__all__ = ["max_unpool3d"]

# bfloat16 is not listed, but goes through as another type of its width.
_DTYPES = frozenset((torch.float32, torch.float16, torch.float64, torch.bfloat16))


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
        ValueError: a rank, shape, value or device that does not fit.
        RuntimeError: an index outside its plane; on ``npu`` at the next synchronisation.

    Example:
        >>> x = torch.tensor([[[[5.0]]]])
        >>> torch_aclnn.functional.max_unpool3d(x, torch.tensor([[[[2]]]]), (1, 1, 4))
        tensor([[[[0., 0., 5., 0.]]]])

    """
    if not torch.compiler.is_compiling():
        result = _C.max_unpool3d(input, indices, kernel_size, stride, padding, output_size)
        if result is not NotImplemented:
            return result
    name = "max_unpool3d"
    _arguments.tensor(name, "input", input, (4, 5))
    _arguments.tensor(name, "indices", indices, (input.dim(),))
    if indices.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name}: indices: expected dtype torch.int64 or torch.int32, got {indices.dtype}")
    _arguments.same_device(name, "indices", indices, input)
    if indices.shape != input.shape:
        _arguments.refuse(name, "indices", f"the shape of input, {tuple(input.shape)}", tuple(indices.shape))
    kernel = _arguments.ints(name, "kernel_size", kernel_size, 3, lowest=1)
    step = _arguments.ints(name, "stride", kernel if stride is None else stride, 3, lowest=1)
    pad = _arguments.ints(name, "padding", padding, 3, lowest=0)
    size = _output_size(name, input, kernel, step, pad, output_size)
    if indices.dtype != torch.int64:  # the condition keeps a needless conversion out of a traced graph
        indices = indices.long()
    run = _arguments.ours_or_torchs(name, MaxUnpool3d.call, MaxUnpool3d.forward, input.dtype in _DTYPES, input, indices)
    return run(input, indices, size, step, pad)


def _output_size(
    function: str, input: Tensor, kernel: Sequence[int], step: Sequence[int], pad: Sequence[int], output_size: object
) -> tuple[int, ...]:
    """Return the last three sizes of an unpooling's result, which the pooling's arguments leave less than a stride of choice."""
    default = tuple((n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-3:], step, kernel, pad, strict=True))
    asked = default if output_size is None else _arguments.listed(output_size)
    if asked is None or len(asked) < 3:
        _arguments.refuse(function, "output_size", "a list of all sizes or the last three", output_size)
    size = tuple(_arguments.integer(function, "output_size", v) for v in asked[-3:])
    if any(v < 1 or abs(v - d) >= s for v, d, s in zip(size, default, step, strict=True)):
        possible = f"less than a stride {tuple(step)} from {default} in the last three sizes"
        _arguments.refuse(function, "output_size", possible, size if output_size is None else output_size)
    return size
