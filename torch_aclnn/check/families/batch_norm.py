"""The element-wise gradient of batch norm."""

from functools import partial

import torch
from torch_aclnn import functional as ours
from torch import Tensor
from torch.nn import functional as theirs
from torch_aclnn._operators import Operator
from torch_aclnn.check.samples import FLOATS, Sample, random
from torch_aclnn.check.specification import Layer, Specification


def definition(
    grad_out: Tensor, input: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor, sum_dy: Tensor, sum_dy_xmu: Tensor, count: Tensor
) -> tuple[Tensor, Tensor]:
    """Return ((dy - sum_dy / n) - (x - mean) * invstd^2 * sum_dy_xmu / n) * invstd * weight, and the same with each term positive."""
    shape = (-1, *[1] * (input.dim() - 2))
    mean, invstd, weight, sum_dy, sum_dy_xmu = (t.double().view(shape) for t in (mean, invstd, weight, sum_dy, sum_dy_xmu))
    n = count.double().sum()
    terms = grad_out.double(), sum_dy / n, (input.double() - mean) * invstd**2 * sum_dy_xmu / n
    scale = invstd * weight
    return (terms[0] - terms[1] - terms[2]) * scale, (terms[0].abs() + terms[1].abs() + terms[2].abs()) * scale.abs()


def _sample(dtype: torch.dtype, size: tuple[int, ...]) -> Sample:
    dy, x = random(size, dtype), (random((*size, 1), dtype)[..., 0] * 2 + 1).to(dtype)
    samples = [d for d in range(len(size)) if d != 1]
    shape = (-1, *[1] * (len(size) - 2))
    mean = x.double().mean(samples).float()
    centred = x.double() - mean.view(shape)
    invstd = (centred.square().mean(samples) + 1e-5).rsqrt().float()
    sum_dy, sum_dy_xmu = dy.double().sum(samples).float(), (dy.double() * centred).sum(samples).float()
    weight = random((size[1],), torch.float32)
    count = torch.tensor([x.numel() // size[1]], dtype=torch.int32)
    tensors = (dy, x, mean, invstd, weight, sum_dy, sum_dy_xmu, count)
    return Sample(tensors, (), lambda: definition(*tensors), arranged=2)


def _layers(input: Tensor) -> tuple[Layer, Layer]:
    return (
        partial(ours.batch_norm, running_mean=None, running_var=None, training=True),
        partial(theirs.batch_norm, running_mean=None, running_var=None, training=True),
    )


def specification(operator: Operator) -> Specification:
    """Return the specification of the operator."""
    return Specification(
        dtypes=FLOATS,
        sample=_sample,
        small=(((4, 3, 5, 6),), ((8, 5),), ((2, 3, 2, 4, 3),)),
        large=((4, 32, 64, 64),),
        tiny=((1, 1, 4, 4),),
        layers=_layers,
    )
