"""Average pooling to a given size."""

from collections.abc import Sequence

import torch
from torch_aclnn import _C
from torch import Tensor
from torch_aclnn.autograd.adaptive_avg_pool2d import AdaptiveAvgPool2d
from torch_aclnn.functional import _arguments

__all__ = ["adaptive_avg_pool2d"]


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
    if not torch.compiler.is_compiling():
        result = _C.adaptive_avg_pool2d(input, output_size)
        if result is not NotImplemented:
            return result
    name = "adaptive_avg_pool2d"
    _arguments.tensor(name, "input", input, (3, 4))
    _arguments.not_integral(name, "input", input)
    asked = _arguments.listed(output_size)
    asked = (output_size,) * 2 if asked is None else asked
    if len(asked) != 2:
        _arguments.refuse(name, "output_size", "one integer or 2", output_size)
    sizes = [size if want is None else want for want, size in zip(asked, input.shape[-2:], strict=True)]
    size = _arguments.ints(name, "output_size", sizes, 2, lowest=0, highest=_arguments.MAX_INT64)
    run = _arguments.ours_or_torchs(name, AdaptiveAvgPool2d.call, AdaptiveAvgPool2d.forward, 0 not in size, input)
    return run(input, size)
