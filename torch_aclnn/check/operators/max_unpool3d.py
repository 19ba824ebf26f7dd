"""The gradient of max unpooling."""

from functools import partial

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs
from torch_aclnn.check.samples import INTEGERS, Sample, random
from torch_aclnn.check.specification import Layer, Specification


def definition(grad_output: Tensor, indices: Tensor) -> Tensor:
    """Take each element from where its index says, in its flattened plane."""
    return grad_output.flatten(-3).gather(-1, indices.flatten(-3)).view(indices.shape)


def _sample(dtype: torch.dtype, planes: tuple[int, ...], pooled: tuple[int, int, int]) -> Sample:
    """Unpool by a kernel and stride of 2: each index is one of the eight cells of its window."""
    size = tuple(2 * s for s in pooled)
    rows = [torch.arange(s).view([-1 if d == k else 1 for k in range(3)]) for d, s in enumerate(pooled)]
    offsets = torch.randint(0, 2, (3, *planes, *pooled), generator=torch.Generator().manual_seed(7))
    depth, row, column = (2 * rows[d] + offsets[d] for d in range(3))
    indices = (depth * size[1] + row) * size[2] + column
    grad_output = random((*planes, *size), dtype)

    def expected() -> tuple[Tensor, Tensor]:
        result = definition(grad_output, indices)
        return result, result

    return Sample((grad_output, indices), (size, (2, 2, 2), (0, 0, 0)), expected, arranged=2)


def _layers(input: Tensor) -> tuple[Layer, Layer]:
    volume = input.shape[-3:]
    indices = torch.arange(volume.numel(), device=input.device).view(volume).expand(input.shape).contiguous()
    return (
        partial(ours.max_unpool3d, indices=indices, kernel_size=2),
        partial(theirs.max_unpool3d, indices=indices, kernel_size=(2, 2, 2)),
    )


SPECIFICATION = Specification(
    dtypes=(torch.float32, torch.float16, torch.float64, *INTEGERS),
    sample=_sample,
    small=(((2, 3), (2, 3, 2)), ((3,), (1, 4, 4))),
    large=((2, 16), (4, 16, 16)),
    tiny=((1, 1), (1, 1, 1)),
    layers=_layers,
    layer_shape=(1, 2, 8, 8, 8),
    tiny_layer_shape=(1, 1, 1, 1, 2),
    only_moves_elements=True,
)
