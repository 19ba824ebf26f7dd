"""The gradients of average poolings."""

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


def definition(
    grad_output: Tensor,
    input_size: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    """Give each output's gradient, divided, to every input cell of its window; ceil_mode has decided the number of windows already."""
    dims = len(kernel)
    result = torch.zeros(input_size, dtype=torch.float64)
    plane = input_size[-dims:]
    for window in itertools.product(*map(range, grad_output.shape[-dims:])):
        begin = [o * s - p for o, s, p in zip(window, stride, padding, strict=True)]
        end = [min(b + k, size + p) for b, k, size, p in zip(begin, kernel, plane, padding, strict=True)]
        ranges = [range(max(b, 0), min(e, size)) for b, e, size in zip(begin, end, plane, strict=True)]
        cells: Any = (..., *(slice(r.start, r.stop) for r in ranges))
        padded_volume = math.prod(e - b for b, e in zip(begin, end, strict=True))
        volume = math.prod(map(len, ranges))
        divisor = divisor_override or (padded_volume if count_include_pad else volume)
        cell: Any = (..., *window)
        result[cells] += (grad_output[cell].double() / divisor).reshape(*grad_output.shape[:-dims], *[1] * dims)
    return result


_SMALL = {
    2: (
        ((2, 3, 9, 8), (3, 2), (2, 1), (1, 1), False, False, None),
        ((2, 3, 7, 10), (3, 3), (2, 2), (1, 0), True, True, None),
        ((1, 16, 6, 6), (2, 2), (2, 2), (0, 0), False, True, 5),
        ((3, 7, 7), (4, 4), (1, 1), (2, 2), False, True, None),
    ),
    3: (
        ((2, 3, 5, 6, 5), (2, 3, 2), (1, 2, 1), (1, 1, 0), False, False, None),
        ((2, 3, 4, 5, 7), (3, 3, 3), (2, 2, 2), (1, 0, 1), True, True, None),
        ((1, 16, 4, 4, 4), (2, 2, 2), (2, 2, 2), (0, 0, 0), False, True, 5),
        ((3, 4, 5, 5), (2, 2, 2), (1, 1, 1), (1, 1, 1), False, True, None),
    ),
}


def specification(operator: Operator) -> Specification:
    """Return the specification of an operator."""
    dims = operator.dims

    def sample(dtype: torch.dtype, size: tuple[int, ...], *arguments: Any) -> Sample:
        pooled = getattr(theirs, operator.function)(torch.empty(size, device="meta"), *arguments).shape
        return linear_sample(definition, dtype, pooled, size, *arguments)

    def layers(input: Tensor) -> tuple[Layer, Layer]:
        return partial(getattr(ours, operator.function), kernel_size=2), partial(getattr(theirs, operator.function), kernel_size=2)

    threes, twos, ones, zeros = ((n,) * dims for n in (3, 2, 1, 0))
    return Specification(
        dtypes=FLOATS,
        sample=sample,
        small=_SMALL[dims],
        large=((4, 32, 64, 64) if dims == 2 else (2, 32, 16, 32, 32), threes, twos, ones, False, True, None),
        tiny=((1, 1, *(4,) * dims), twos, twos, zeros, False, True, None),
        aten_arguments=input_for_sizes,
        layers=layers,
        layer_shape=(4, 16, 32, 32) if dims == 2 else (1, 2, 8, 8, 8),
        tiny_layer_shape=(1, 1, *(4,) * dims),
        may_use_float16=dims == 2,
    )
