"""The gradients of max unpoolings."""

import math
from functools import partial

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs
from torch_aclnn._operators import Operator
from torch_aclnn.check.samples import INTEGERS, Sample, random
from torch_aclnn.check.specification import Layer, Specification


def definition(grad_output: Tensor, indices: Tensor, dims: int) -> Tensor:
    """Take each element from where its index says, in its flattened plane."""
    return grad_output.flatten(-dims).gather(-1, indices.flatten(-dims)).view(indices.shape)


def _indices(planes: tuple[int, ...], pooled: tuple[int, ...]) -> Tensor:
    """Return indices for an unpooling by a kernel and stride of 2: each is the index of a cell in its window."""
    dims = len(pooled)
    offsets = torch.randint(0, 2, (dims, *planes, *pooled), generator=torch.Generator().manual_seed(7))
    indices = torch.zeros((*planes, *pooled), dtype=torch.int64)
    for d, size in enumerate(pooled):
        first = 2 * torch.arange(size).view([-1 if d == k else 1 for k in range(dims)])
        indices = indices * 2 * size + first + offsets[d]
    return indices


_SMALL = {2: (((2, 3), (3, 2)), ((3,), (4, 4))), 3: (((2, 3), (2, 3, 2)), ((3,), (1, 4, 4)))}


def specification(operator: Operator) -> Specification:
    """Return the specification of an operator."""
    dims = operator.dims

    def sample(dtype: torch.dtype, planes: tuple[int, ...], pooled: tuple[int, ...]) -> Sample:
        size = tuple(2 * s for s in pooled)
        indices = _indices(planes, pooled)
        grad_output = random((*planes, *size), dtype)
        pooling = ((2,) * dims, (0,) * dims) if dims == 3 else ()

        def expected() -> tuple[Tensor, Tensor]:
            result = definition(grad_output, indices, dims)
            return result, result

        return Sample((grad_output, indices), (size, *pooling), expected, arranged=2)

    def layers(input: Tensor) -> tuple[Layer, Layer]:
        plane = input.shape[-dims:]
        indices = torch.arange(math.prod(plane), device=input.device).view(plane).expand(input.shape).contiguous()
        return (
            partial(getattr(ours, operator.function), indices=indices, kernel_size=2),
            partial(getattr(theirs, operator.function), indices=indices, kernel_size=(2,) * dims),
        )

    doubles = (torch.float64,) if dims == 3 else ()  # newer pages do not list float64 for 2-D planes
    return Specification(
        dtypes=(torch.float32, torch.float16, *doubles, *INTEGERS),
        sample=sample,
        small=_SMALL[dims],
        large=((2, 16), (4, 16, 16)) if dims == 3 else ((2, 16), (32, 32)),
        tiny=((1, 1), (1,) * dims),
        layers=layers,
        layer_shape=(1, 2, 8, 8, 8) if dims == 3 else (1, 2, 16, 32),
        tiny_layer_shape=(1, 1, *(1,) * (dims - 1), 2),
        only_moves_elements=True,
    )
