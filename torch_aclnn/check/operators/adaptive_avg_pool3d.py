"""The gradient of adaptive average pooling of volumes."""

import math
from functools import partial
from itertools import product

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs
from torch_aclnn.check.samples import FLOATS, Sample, linear_sample
from torch_aclnn.check.specification import Layer, Specification, input_for_sizes


def definition(grad_output: Tensor, input_size: tuple[int, ...]) -> Tensor:
    """Give each output's gradient, divided, to every input cell of its window."""
    result = torch.zeros(input_size, dtype=torch.float64)
    axes = (_windows(size, out) for size, out in zip(input_size[-3:], grad_output.shape[-3:], strict=True))
    gradients = grad_output.double().flatten(-3).unbind(-1)
    for gradient, window in zip(gradients, product(*axes), strict=True):
        planes, rows, columns = window
        result[..., planes, rows, columns] += gradient[..., None, None, None] / math.prod(axis.stop - axis.start for axis in window)
    return result


def _windows(size: int, out: int) -> list[slice]:
    """Return, for each output cell, the input cells from floor(o * size / out) to ceil((o + 1) * size / out)."""
    return [slice(o * size // out, -(-(o + 1) * size // out)) for o in range(out)]


def _sample(dtype: torch.dtype, size: tuple[int, ...], out: tuple[int, int, int]) -> Sample:
    return linear_sample(definition, dtype, (*size[:-3], *out), size)


def _layers(input: Tensor) -> tuple[Layer, Layer]:
    return partial(ours.adaptive_avg_pool3d, output_size=2), partial(theirs.adaptive_avg_pool3d, output_size=2)


SPECIFICATION = Specification(
    dtypes=FLOATS,
    sample=_sample,
    small=(((2, 3, 5, 9, 8), (2, 4, 3)), ((1, 16, 2, 6, 6), (1, 1, 1)), ((2, 3, 3, 5, 6), (4, 5, 4)), ((3, 4, 7, 7), (3, 2, 5))),
    large=((2, 32, 16, 32, 32), (7, 7, 7)),
    tiny=((1, 1, 1, 4, 4), (1, 2, 2)),
    aten_arguments=input_for_sizes,
    layers=_layers,
    layer_shape=(1, 2, 8, 8, 8),
    tiny_layer_shape=(1, 1, 1, 4, 4),
)
