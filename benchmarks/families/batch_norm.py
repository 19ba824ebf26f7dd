"""The gradient of batch norm, given the sums over the batch."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor
from torch_aclnn._operators import Operator

from benchmarks.case import Case, Work, dtype_name
from benchmarks.draw import Draw


@dataclass(frozen=True, kw_only=True)
class BatchNormElemt(Case):
    """Statistics, weight and sums are float32, as PyTorch keeps them."""

    grad_dtype: torch.dtype | None = None  # the case's dtype by default

    def details(self) -> tuple[str, ...]:
        """Return grad_out's dtype, if it is another."""
        return (f"grad_out={dtype_name(self.grad_dtype)}" if self.grad_dtype else "",)

    def work(self) -> Work:
        """Make tensors with sums of the size that a batch has, so that each term of the formula matters."""
        grad_out, input = self.randn(self.shape, self.grad_dtype), self.randn(self.shape, seed=1)
        channels, count = self.shape[1], input.numel() // self.shape[1]
        generator = torch.Generator().manual_seed(2)
        mean, invstd, weight, sum_dy, sum_dy_xmu = torch.rand(5, channels, generator=generator).add_(0.5).unbind()
        inputs = (grad_out, input, mean, invstd, weight, sum_dy * count, sum_dy_xmu * count, torch.tensor([count], dtype=torch.int32))
        out = torch.empty_like(input)
        return Work(
            inputs=inputs,
            out=out,
            bytes=sum(t.nbytes for t in inputs) + out.nbytes,
            ours=partial(torch.ops.torch_aclnn.batch_norm_elemt_backward.out, *inputs, out=out),
            aten=eager(out, *inputs),
            formula=formula,
        )


def formula(*inputs: Tensor) -> Tensor:
    """Return the gradient in its textbook form, which a compiler fuses into one pass."""
    grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count = inputs
    n, shape = count.sum(), channel_shape(input)
    slope = (invstd * invstd * sum_dy_xmu / n).view(shape)
    centred_grad = grad_out.float() - (sum_dy / n).view(shape)
    return ((centred_grad - (input.float() - mean.view(shape)) * slope) * (invstd * weight).view(shape)).to(input.dtype)


def eager(out: Tensor, *inputs: Tensor) -> Callable[[], None]:
    """Return the fastest way that we know to evaluate the formula by ATen's operators: scale * grad_out + slope * input + offset.

    ATen has no CPU kernel of batch_norm_backward_elemt. Operators on mixed dtypes are slow, so half types are converted first.
    """
    grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count = inputs
    shape = channel_shape(input)

    def as_float(tensor: Tensor) -> Callable[[], Tensor]:
        if tensor.dtype == torch.float32:
            return lambda: tensor
        return partial(torch.empty_like(tensor, dtype=torch.float32).copy_, tensor)

    x, dy = as_float(input), as_float(grad_out)
    result = out if out.dtype == torch.float32 else torch.empty_like(out, dtype=torch.float32)

    def evaluate() -> None:
        n, scale = count.sum(), invstd * weight
        slope = -scale * invstd * invstd * sum_dy_xmu / n
        offset = -scale * sum_dy / n - slope * mean
        torch.addcmul(offset.view(shape), x(), slope.view(shape), out=result)
        result.addcmul_(dy(), scale.view(shape))
        if result is not out:
            out.copy_(result)

    return evaluate


def channel_shape(input: Tensor) -> tuple[int, ...]:
    """Return the shape in which one value per channel broadcasts over the input."""
    return -1, *[1] * (input.dim() - 2)


def cases(operator: Operator) -> list[Case]:
    """Return the fixed ones."""
    case = partial(BatchNormElemt, operator=operator)
    large = (case(shape=(32, 64, 112, 112)), case(shape=(32, 256, 56, 56)), case(shape=(32, 2048, 7, 7), quick=True))
    return [
        *large,
        *(replace(case, dtype=torch.bfloat16, quick=False) for case in large),
        replace(large[2], dtype=torch.float16, quick=False),
        *(replace(case, channels_last=True, quick=False) for case in large[1:]),
        replace(large[2], grad_dtype=torch.bfloat16, quick=False),
        case(shape=(4096, 1024)),
        case(shape=(1, 64, 56, 56)),
        case(shape=(1, 3, 32, 32), quick=True),
        case(shape=(8, 64, 17, 13)),
    ]


def random_case(operator: Operator, draw: Draw) -> Case:
    """Draw a layer as networks have it; rarely with a grad_out of another dtype."""
    layout = draw.layout(plane_dims=2, smallest_plane=5, largest_plane=128)
    other = draw.choice((torch.float32, torch.bfloat16)) if draw.chance(0.2) else layout["dtype"]
    return BatchNormElemt(operator=operator, **layout, grad_dtype=other if other != layout["dtype"] else None)
