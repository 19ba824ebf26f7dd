"""Average pooling of volumes to a given size."""

from collections.abc import Sequence

import torch
from torch_aclnn import _C
from torch import Tensor
from torch_aclnn.autograd.adaptive_avg_pool3d import AdaptiveAvgPool3d
from torch_aclnn.functional import _arguments

__all__ = ["adaptive_avg_pool3d"]


def adaptive_avg_pool3d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """Average to a given size, as :func:`torch.nn.functional.adaptive_avg_pool3d`; the gradient is ``aclnnAdaptiveAvgPool3dBackward``.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W); float32, float16, bfloat16 (and float64 on ``cpu``).
        output_size: depth, rows and columns of the result; one number stands for all, None keeps the input's. A result without elements
            is torch's own, because the entry point takes no such gradient.

    Returns:
        (N, C, oD, oH, oW) or (C, oD, oH, oW).

    Raises:
        TypeError: an argument of another type.
        ValueError: a rank other than 4 or 5, or a negative output size.

    Example:
        >>> torch_aclnn.functional.adaptive_avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[3.5000]]]])

    """
    if not torch.compiler.is_compiling():
        result = _C.adaptive_avg_pool3d(input, output_size)
        if result is not NotImplemented:
            return result
    name = "adaptive_avg_pool3d"
    _arguments.tensor(name, "input", input, (4, 5))
    _arguments.not_integral(name, "input", input)
    asked = _arguments.listed(output_size)
    asked = (output_size,) * 3 if asked is None else asked
    if len(asked) != 3:
        _arguments.refuse(name, "output_size", "one integer or 3", output_size)
    sizes = [size if want is None else want for want, size in zip(asked, input.shape[-3:], strict=True)]
    size = _arguments.ints(name, "output_size", sizes, 3, lowest=0, highest=_arguments.MAX_INT64)
    run = _arguments.ours_or_torchs(name, AdaptiveAvgPool3d.call, AdaptiveAvgPool3d.forward, 0 not in size, input)
    return run(input, size)
