"""The gradients of adaptive average poolings."""

import itertools
import math
from functools import partial
from typing import Any

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs
from torch_aclnn._operators import Operator
from torch_aclnn.check.samples import FLOATS, Sample, linear_sample
from torch_aclnn.check.specification import Layer, Specification, input_for_sizes


def definition(grad_output: Tensor, input_size: tuple[int, ...], dims: int) -> Tensor:
    """Give each output's gradient, divided, to every input cell of its window."""
    result = torch.zeros(input_size, dtype=torch.float64)
    axes = (_windows(size, out) for size, out in zip(input_size[-dims:], grad_output.shape[-dims:], strict=True))
    for gradient, window in zip(grad_output.double().flatten(-dims).unbind(-1), itertools.product(*axes), strict=True):
        divided = gradient / math.prod(axis.stop - axis.start for axis in window)
        cells: Any = (..., *window)
        result[cells] += divided.reshape(*divided.shape, *[1] * dims)
    return result


def _windows(size: int, out: int) -> list[slice]:
    """Return, for each output cell, the input cells from floor(o * size / out) to ceil((o + 1) * size / out)."""
    return [slice(o * size // out, -(-(o + 1) * size // out)) for o in range(out)]


_SMALL = {
    2: (((2, 3, 9, 8), (4, 3)), ((1, 16, 6, 6), (1, 1)), ((2, 3, 5, 6), (5, 4)), ((3, 7, 7), (2, 5))),
    3: (((2, 3, 5, 9, 8), (2, 4, 3)), ((1, 16, 2, 6, 6), (1, 1, 1)), ((2, 3, 3, 5, 6), (4, 5, 4)), ((3, 4, 7, 7), (3, 2, 5))),
}


def specification(operator: Operator) -> Specification:
    """Return the specification of an operator."""
    dims = operator.dims

    def sample(dtype: torch.dtype, size: tuple[int, ...], out: tuple[int, ...]) -> Sample:
        return linear_sample(partial(definition, dims=dims), dtype, (*size[:-dims], *out), size)

    def layers(input: Tensor) -> tuple[Layer, Layer]:
        return partial(getattr(ours, operator.function), output_size=2), partial(getattr(theirs, operator.function), output_size=2)

    return Specification(
        dtypes=FLOATS,
        sample=sample,
        small=_SMALL[dims],
        large=((4, 32, 64, 64), (7, 7)) if dims == 2 else ((2, 32, 16, 32, 32), (7, 7, 7)),
        tiny=((1, 1, 4, 4), (2, 2)) if dims == 2 else ((1, 1, 1, 4, 4), (1, 2, 2)),
        aten_arguments=input_for_sizes,
        layers=layers,
        layer_shape=(4, 16, 32, 32) if dims == 2 else (1, 2, 8, 8, 8),
        tiny_layer_shape=(1, 1, 4, 4) if dims == 2 else (1, 1, 1, 4, 4),
    )
