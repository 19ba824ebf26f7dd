"""What the entry points of the paddings' gradients have in common: a good call, and calls with exact results."""

import math
from collections.abc import Callable
from typing import Any

from support.dtypes import DType, numbers
from support.entry_point import Undocumented
from support.tensors import Tensor

GOOD = {
    "gradOutput": Tensor((2, 3, 7, 6)),
    "self": Tensor((2, 3, 4, 3)),
    "padding": (1, 2, 3, 0),
    "gradInput": Tensor((2, 3, 4, 3)),
}
NEGATIVE = Undocumented({"padding": (1, -1, 3, 0), "gradOutput": {"shape": (2, 3, 7, 3)}}, "padding", "values of at least 0")


def exact_call(
    gradient: Callable[..., list[Any]],
    size: tuple[int, int],
    padding: tuple[int, int, int, int],
    *,
    dtype: DType = DType.FLOAT,
    lead: tuple[int, ...] = (2, 3),
) -> tuple[dict[str, Any], list[Any]]:
    """Return the arguments and the exact result."""
    left, right, top, bottom = padding
    shape, grad_shape = (*lead, *size), (*lead, size[0] + top + bottom, size[1] + left + right)
    grad = numbers(math.prod(grad_shape), dtype)
    arguments = {
        "gradOutput": Tensor(grad_shape, dtype, grad),
        "self": Tensor(shape, dtype),
        "padding": padding,
        "gradInput": Tensor(shape, dtype),
    }
    return arguments, gradient(grad, grad_shape, shape, padding)
