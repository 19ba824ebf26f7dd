"""Padding by reflection at the edges."""

from collections.abc import Sequence
from typing import Any

import torch
from torch_aclnn import _C
from torch import Tensor
from torch_aclnn.autograd.reflection_pad2d import ReflectionPad2d
from torch_aclnn.functional import _arguments

__all__ = ["reflection_pad2d"]


def reflection_pad2d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Reflect at the edges, as ``torch.nn.functional.pad(..., mode="reflect")``; the gradient is ``aclnnReflectionPad2dBackward``.

    The cells of the edge itself are not repeated, so left and right are below W, top and bottom below H. With a negative
    one it is torch's own function.

    Args:
        input: (N, C, H, W) or (C, H, W); float16, bfloat16, float32, float64, complex64, complex128.
        padding: (left, right, top, bottom), or one number for all; a negative number crops.

    Returns:
        (N, C, H + top + bottom, W + left + right), or without N.

    Raises:
        TypeError: an argument of another type.
        ValueError: a rank other than 3 or 4, a padding that reaches the input's size, or a padded size below 1.

    Example:
        >>> torch_aclnn.functional.reflection_pad2d(torch.tensor([[[1.0, 2.0, 3.0]]]), (2, 1, 0, 0))
        tensor([[[3., 2., 1., 2., 3., 2.]]])

    """
    if not torch.compiler.is_compiling():
        result = _C.reflection_pad2d(input, padding)
        if result is not NotImplemented:
            return result
    name = "reflection_pad2d"
    _arguments.tensor(name, "input", input, (3, 4))
    pad = left, right, top, bottom = _arguments.edge_padding(name, "padding", padding, input)
    height, width = input.shape[-2:]
    if left >= width or right >= width or top >= height or bottom >= height:
        _arguments.refuse(name, "padding", f"values below the sizes that they extend, of input {tuple(input.shape)}", padding)
    run = _arguments.ours_or_torchs(name, ReflectionPad2d.call, ReflectionPad2d.forward, min(pad) >= 0, input)
    return run(input, pad)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Be :func:`torch.nn.functional.pad` where it reflects an image at its edges; NotImplemented for everything else."""
    if mode == "reflect" and value is None and isinstance(pad, Sequence) and len(pad) == 4:
        return reflection_pad2d(input, pad)
    return NotImplemented
