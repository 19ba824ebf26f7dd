"""The gradients of paddings by elements of the input."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs
from torch_aclnn._operators import Operator
from torch_aclnn.check.samples import COMPLEX, FLOATS, Sample, linear_sample
from torch_aclnn.check.specification import Layer, Specification, input_for_sizes

# For each mode, the input cell whose value stands at an index of the padded input; index 0 is the input's first cell.
_SHOWN: dict[str, Callable[[int, int], int]] = {
    "replicate": lambda size, index: min(max(index, 0), size - 1),
    "reflect": lambda size, index: size - 1 - abs(size - 1 - abs(index)),
    "circular": lambda size, index: index % size,
}


def definition(grad_output: Tensor, input_size: tuple[int, ...], padding: tuple[int, ...], mode: str) -> Tensor:
    """Add each output's gradient to the input cell that it is a copy of."""
    dims = len(padding) // 2
    grad = grad_output.to(torch.complex128 if grad_output.is_complex() else torch.float64)
    result = torch.zeros(input_size, dtype=grad.dtype)
    before = padding[::2][::-1]
    for cell in itertools.product(*map(range, grad.shape[-dims:])):
        shown = (_SHOWN[mode](size, index - first) for size, index, first in zip(input_size[-dims:], cell, before, strict=True))
        target: Any = (..., *shown)
        source: Any = (..., *cell)
        result[target] += grad[source]
    return result


_SMALL = {
    1: (((2, 3, 7), (2, 1)), ((1, 16, 5), (4, 4)), ((3, 6), (1, 1))),
    2: (((2, 3, 6, 7), (2, 1, 3, 0)), ((1, 16, 5, 5), (4, 4, 4, 4)), ((3, 6, 6), (1, 1, 1, 1))),
    3: (((2, 3, 4, 5, 4), (2, 1, 3, 0, 1, 2)), ((1, 8, 3, 3, 3), (2,) * 6), ((3, 3, 4, 4), (1,) * 6)),
}
_LARGE = {1: (4, 32, 4096), 2: (4, 32, 64, 64), 3: (2, 16, 16, 32, 32)}
_LAYER = {1: (4, 16, 1024), 2: (4, 16, 32, 32), 3: (1, 2, 8, 8, 8)}


def specification(operator: Operator) -> Specification:
    """Return the specification of an operator."""
    dims, mode = operator.dims, operator.mode
    assert mode is not None

    def sample(dtype: torch.dtype, size: tuple[int, ...], padding: tuple[int, ...]) -> Sample:
        padded = list(size)
        for side, more in enumerate(padding):
            padded[-1 - side // 2] += more
        return linear_sample(partial(definition, mode=mode), dtype, tuple(padded), size, padding)

    def layers(input: Tensor) -> tuple[Layer, Layer]:
        return partial(getattr(ours, operator.function), padding=1), partial(theirs.pad, pad=(1,) * 2 * dims, mode=mode)

    return Specification(
        dtypes=FLOATS if mode == "circular" else (*FLOATS, torch.float64, *COMPLEX),
        sample=sample,
        small=_SMALL[dims],
        large=(_LARGE[dims], (3,) * 2 * dims),
        tiny=((1, 1, *(4,) * dims), (1,) * 2 * dims),
        aten_arguments=input_for_sizes,
        layers=layers,
        layer_shape=_LAYER[dims],
        tiny_layer_shape=(1, 1, *(4,) * dims),
    )
