"""Max unpooling."""

from collections.abc import Sequence
from typing import Any

import torch
from torch_aclnn import _C
from torch import Tensor
from torch_aclnn._operators import BY_NAME
from torch_aclnn.functional import _arguments
from torch_aclnn.functional._documentation import documented

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]

# No page lists bfloat16, or float64 for 2-D planes; they are passed as other types of the same width.
_DTYPES = frozenset((torch.float32, torch.float16, torch.float64, torch.bfloat16))


@documented
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put pooled values back in their places, as :func:`torch.nn.functional.max_unpool1d`.

    The gradient is ``aclnnMaxUnpool2dBackward``, of planes of one row.

    Example:
        >>> torch_aclnn.functional.max_unpool1d(torch.tensor([[5.0]]), torch.tensor([[2]]), 4)
        tensor([[0., 0., 5., 0.]])

    """
    indices, kernel, step, pad, size = _checked("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)
    in_a_row = input.unsqueeze(-2), indices.unsqueeze(-2)
    return max_unpool2d(*in_a_row, (1, *kernel), (1, *step), (0, *pad), (1, *size)).squeeze(-2)


@documented
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put pooled values back in their places, as :func:`torch.nn.functional.max_unpool2d`; the gradient is ``aclnnMaxUnpool2dBackward``.

    Example:
        >>> torch_aclnn.functional.max_unpool2d(torch.tensor([[[5.0]]]), torch.tensor([[[2]]]), (1, 4))
        tensor([[[0., 0., 5., 0.]]])

    """
    if not torch.compiler.is_compiling():
        result = _C.max_unpool2d(input, indices, kernel_size, stride, padding, output_size)
        if result is not NotImplemented:
            return result
    return _max_unpool("max_unpool2d", input, indices, kernel_size, stride, padding, output_size)


@documented
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put pooled values back in their places, as :func:`torch.nn.functional.max_unpool3d`; the gradient is ``aclnnMaxUnpool3dBackward``.

    Example:
        >>> x = torch.tensor([[[[5.0]]]])
        >>> torch_aclnn.functional.max_unpool3d(x, torch.tensor([[[[2]]]]), (1, 1, 4))
        tensor([[[[0., 0., 5., 0.]]]])

    """
    if not torch.compiler.is_compiling():
        result = _C.max_unpool3d(input, indices, kernel_size, stride, padding, output_size)
        if result is not NotImplemented:
            return result
    return _max_unpool("max_unpool3d", input, indices, kernel_size, stride, padding, output_size)


def _max_unpool(name: str, input: Tensor, indices: Tensor, *pooling: Any) -> Tensor:
    indices, _, step, pad, size = _checked(name, BY_NAME[name].dims, input, indices, *pooling)
    return _arguments.run(name, input.dtype in _DTYPES, (input, indices), size, step, pad)


_Sizes = tuple[int, ...]


def _checked(
    name: str, dims: int, input: Tensor, indices: Tensor, kernel_size: object, stride: object, padding: object, output_size: object
) -> tuple[Tensor, _Sizes, _Sizes, _Sizes, _Sizes]:
    """Return the indices as int64, the pooling's window, stride and padding, and the plane's size of the result."""
    _arguments.tensor(name, "input", input, (dims + 1, dims + 2))
    _arguments.tensor(name, "indices", indices, (input.dim(),))
    if indices.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name}: indices: expected dtype torch.int64 or torch.int32, got {indices.dtype}")
    _arguments.same_device(name, "indices", indices, input)
    if indices.shape != input.shape:
        _arguments.refuse(name, "indices", f"the shape of input, {tuple(input.shape)}", tuple(indices.shape))
    kernel = _arguments.ints(name, "kernel_size", kernel_size, dims, lowest=1)
    step = _arguments.ints(name, "stride", kernel if stride is None else stride, dims, lowest=1)
    pad = _arguments.ints(name, "padding", padding, dims, lowest=0)
    size = _output_size(name, input, kernel, step, pad, output_size)
    # The condition keeps a needless conversion out of the graphs of other devices. Torch declares the indices of
    # max_pool3d as int64, but on npu they are int32; Tensor.to() would trust the declaration.
    if indices.dtype != torch.int64 or (indices.device.type == "npu" and torch.compiler.is_compiling()):
        indices = torch.ops.aten._to_copy.default(indices, dtype=torch.int64)
    return indices, kernel, step, pad, size


def _output_size(
    function: str, input: Tensor, kernel: Sequence[int], step: Sequence[int], pad: Sequence[int], output_size: object
) -> tuple[int, ...]:
    """Return the sizes of an unpooling's planes, which the pooling's arguments leave less than a stride of choice."""
    dims = len(kernel)
    default = tuple((n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-dims:], step, kernel, pad, strict=True))
    asked = default if output_size is None else _arguments.listed(output_size)
    last = "last size" if dims == 1 else f"last {('two', 'three')[dims - 2]}"
    if asked is None or len(asked) < dims:
        _arguments.refuse(function, "output_size", f"a list of all sizes or the {last}", output_size)
    size = tuple(_arguments.integer(function, "output_size", v) for v in asked[-dims:])
    if any(v < 1 or abs(v - d) >= s for v, d, s in zip(size, default, step, strict=True)):
        possible = f"less than a stride {tuple(step)} from {default} in the {last}{'' if dims == 1 else ' sizes'}"
        _arguments.refuse(function, "output_size", possible, size if output_size is None else output_size)
    return size
