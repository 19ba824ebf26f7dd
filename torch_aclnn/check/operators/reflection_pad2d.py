"""The gradient of padding by reflection."""

from functools import partial

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs
from torch_aclnn.check.samples import COMPLEX, FLOATS, Sample, linear_sample
from torch_aclnn.check.specification import Layer, Specification, input_for_sizes


def _mirrored(index: int, size: int) -> int:
    return size - 1 - abs(size - 1 - abs(index))


def definition(grad_output: Tensor, input_size: tuple[int, ...], padding: tuple[int, int, int, int]) -> Tensor:
    """Add each output's gradient to the input cell that it mirrors."""
    grad = grad_output.to(torch.complex128 if grad_output.is_complex() else torch.float64)
    result = torch.zeros(input_size, dtype=grad.dtype)
    left, _, top, _ = padding
    for i in range(grad.shape[-2]):
        for j in range(grad.shape[-1]):
            result[..., _mirrored(i - top, input_size[-2]), _mirrored(j - left, input_size[-1])] += grad[..., i, j]
    return result


def _sample(dtype: torch.dtype, size: tuple[int, ...], padding: tuple[int, int, int, int]) -> Sample:
    left, right, top, bottom = padding
    padded = (*size[:-2], size[-2] + top + bottom, size[-1] + left + right)
    return linear_sample(definition, dtype, padded, size, padding)


def _layers(input: Tensor) -> tuple[Layer, Layer]:
    return partial(ours.reflection_pad2d, padding=1), partial(theirs.pad, pad=(1, 1, 1, 1), mode="reflect")


SPECIFICATION = Specification(
    dtypes=(*FLOATS, torch.float64, *COMPLEX),
    sample=_sample,
    small=(((2, 3, 6, 7), (2, 1, 3, 0)), ((1, 16, 5, 5), (4, 4, 4, 4)), ((3, 6, 6), (1, 1, 1, 1))),
    large=((4, 32, 64, 64), (3, 3, 3, 3)),
    tiny=((1, 1, 4, 4), (1, 1, 1, 1)),
    aten_arguments=input_for_sizes,
    layers=_layers,
)
