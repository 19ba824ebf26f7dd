"""The gradient of average pooling."""

from functools import partial
from typing import Any

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs
from torch_aclnn.check.samples import FLOATS, Sample, linear_sample
from torch_aclnn.check.specification import Layer, Specification, input_for_sizes


def definition(
    grad_output: Tensor,
    input_size: tuple[int, ...],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    """Give each output's gradient, divided, to every input cell of its window; ceil_mode has decided the number of windows already."""
    result = torch.zeros(input_size, dtype=torch.float64)
    height, width = input_size[-2:]
    for i in range(grad_output.shape[-2]):
        for j in range(grad_output.shape[-1]):
            rows, columns = i * stride[0] - padding[0], j * stride[1] - padding[1]
            rows_end, columns_end = min(rows + kernel[0], height + padding[0]), min(columns + kernel[1], width + padding[1])
            padded_area = (rows_end - rows) * (columns_end - columns)
            cells = (..., slice(max(rows, 0), min(rows_end, height)), slice(max(columns, 0), min(columns_end, width)))
            area = result[cells].shape[-2] * result[cells].shape[-1]
            divisor = divisor_override or (padded_area if count_include_pad else area)
            result[cells] += grad_output[..., i, j, None, None].double() / divisor
    return result


def _sample(dtype: torch.dtype, size: tuple[int, ...], *arguments: Any) -> Sample:
    pooled = theirs.avg_pool2d(torch.empty(size, device="meta"), *arguments).shape
    return linear_sample(definition, dtype, pooled, size, *arguments)


def _layers(input: Tensor) -> tuple[Layer, Layer]:
    return partial(ours.avg_pool2d, kernel_size=2), partial(theirs.avg_pool2d, kernel_size=2)


SPECIFICATION = Specification(
    dtypes=FLOATS,
    sample=_sample,
    small=(
        ((2, 3, 9, 8), (3, 2), (2, 1), (1, 1), False, False, None),
        ((2, 3, 7, 10), (3, 3), (2, 2), (1, 0), True, True, None),
        ((1, 16, 6, 6), (2, 2), (2, 2), (0, 0), False, True, 5),
        ((3, 7, 7), (4, 4), (1, 1), (2, 2), False, True, None),
    ),
    large=((4, 32, 64, 64), (3, 3), (2, 2), (1, 1), False, True, None),
    tiny=((1, 1, 4, 4), (2, 2), (2, 2), (0, 0), False, True, None),
    aten_arguments=input_for_sizes,
    layers=_layers,
    may_use_float16=True,
)
