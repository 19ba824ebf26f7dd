"""The gradient of adaptive average pooling."""

from functools import partial

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs
from torch_aclnn.check.samples import FLOATS, Sample, linear_sample
from torch_aclnn.check.specification import Layer, Specification, input_for_sizes


def definition(grad_output: Tensor, input_size: tuple[int, ...]) -> Tensor:
    """Give each output's gradient, divided, to every input cell of its window."""
    result = torch.zeros(input_size, dtype=torch.float64)
    rows, columns = (_windows(size, out) for size, out in zip(input_size[-2:], grad_output.shape[-2:], strict=True))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            area = (row.stop - row.start) * (column.stop - column.start)
            result[..., row, column] += grad_output[..., i, j, None, None].double() / area
    return result


def _windows(size: int, out: int) -> list[slice]:
    """Return, for each output cell, the input cells from floor(o * size / out) to ceil((o + 1) * size / out)."""
    return [slice(o * size // out, -(-(o + 1) * size // out)) for o in range(out)]


def _sample(dtype: torch.dtype, size: tuple[int, ...], out: tuple[int, int]) -> Sample:
    return linear_sample(definition, dtype, (*size[:-2], *out), size)


def _layers(input: Tensor) -> tuple[Layer, Layer]:
    return partial(ours.adaptive_avg_pool2d, output_size=2), partial(theirs.adaptive_avg_pool2d, output_size=2)


SPECIFICATION = Specification(
    dtypes=FLOATS,
    sample=_sample,
    small=(((2, 3, 9, 8), (4, 3)), ((1, 16, 6, 6), (1, 1)), ((2, 3, 5, 6), (5, 4)), ((3, 7, 7), (2, 5))),
    large=((4, 32, 64, 64), (7, 7)),
    tiny=((1, 1, 4, 4), (2, 2)),
    aten_arguments=input_for_sizes,
    layers=_layers,
)
