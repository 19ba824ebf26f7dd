"""Batch norm over the batch's own statistics, whose element-wise gradient is aclnnBatchNormElemtBackward.

The arithmetic around that entry point is the one of synchronised batch norm: statistics and an element-wise map in the forward,
sums and an element-wise map in the backward. On ``npu`` each step is torch's operator for it; ATen has no CPU kernels for them.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import is_in_torch_dispatch_mode, is_traceable_wrapper_subclass
from torch_aclnn.autograd._function import Function

__all__ = ["BatchNorm", "BatchNormElemtBackward"]

_backward = torch.ops.torch_aclnn.batch_norm_elemt_backward.default


def _per_channel(values: Tensor, like: Tensor) -> Tensor:
    return values.view(-1, *[1] * (like.dim() - 2))


def _sum_over_samples(values: Tensor) -> Tensor:
    return values.sum([d for d in range(values.dim()) if d != 1])


def _statistics_type(input: Tensor) -> torch.dtype:
    return torch.float32 if input.dtype in (torch.float16, torch.bfloat16) else input.dtype


def _is_observed(input: Tensor) -> bool:
    """Return whether the steps are differentiated or traced."""
    differentiated = torch.is_grad_enabled() or forward_ad._current_level >= 0
    return differentiated or torch.compiler.is_compiling() or is_in_torch_dispatch_mode() or is_traceable_wrapper_subclass(input)


def _uses_device_operators(input: Tensor) -> bool:
    # Torch's operators for the steps have no derivatives and no meta kernels, and one updates the running statistics although its schema
    # does not say so. So the plain form is used where the steps are observed, and for float64, whose statistics they compute in float32.
    return input.device.type == "npu" and input.dtype != torch.float64 and not _is_observed(input)


def _statistics(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return mean and 1/sqrt(variance + eps) per channel."""
    if _uses_device_operators(input):
        return torch.batch_norm_stats(input, eps)
    x = input.to(_statistics_type(input))
    count = input.numel() // input.shape[1]
    mean = _sum_over_samples(x) / count
    variance = _sum_over_samples((x - _per_channel(mean, x)).square()) / count
    return mean, (variance + eps).rsqrt()


@torch.no_grad()
def update_running_statistics(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor,
    invstd: Tensor,
    momentum: float,
    eps: float,
) -> None:
    """Move the running statistics towards the batch's, the variance towards the unbiased one."""
    count = input.numel() // input.shape[1]
    if _uses_device_operators(input) and all(t is not None and t.dtype == mean.dtype for t in (running_mean, running_var)):
        counts = torch.full((1,), count, dtype=mean.dtype, device=input.device)
        torch.batch_norm_gather_stats_with_counts(input, mean[None], invstd[None], running_mean, running_var, momentum, eps, counts)
        return
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
    if running_var is not None:
        variance = (invstd.square().reciprocal() - eps) * (count / (count - 1))
        running_var.mul_(1 - momentum).add_(variance, alpha=momentum)


def _normalise(input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float) -> Tensor:
    if _uses_device_operators(input):
        return torch.batch_norm_elemt(input, weight, bias, mean, invstd, eps)
    output = (input.to(mean.dtype) - _per_channel(mean, input)) * _per_channel(invstd, input)
    if weight is not None:
        output = output * _per_channel(weight, input)
    if bias is not None:
        output = output + _per_channel(bias, input)
    return output.to(input.dtype)


def _sums(grad_output: Tensor, input: Tensor, mean: Tensor, invstd: Tensor) -> tuple[Tensor, Tensor]:
    """Return, per channel, the sum of dy and the sum of dy * (x - mean)."""
    if _uses_device_operators(input):
        sum_dy, sum_dy_xmu, _, _ = torch.batch_norm_backward_reduce(grad_output, input, mean, invstd, None, True, False, False)
        return sum_dy, sum_dy_xmu
    dy = grad_output.to(mean.dtype)
    return _sum_over_samples(dy), _sum_over_samples(dy * (input.to(mean.dtype) - _per_channel(mean, input)))


def _fold(values: Tensor | None, dim: int | None, batch_size: int, channel: int) -> Tensor | None:
    """Move a mapped dimension in front of the channels and make one dimension of both: channels are never mixed."""
    if values is None:
        return None
    moved = values.movedim(dim, 0) if dim is not None else values.expand(batch_size, *values.shape)
    return moved.movedim(0, channel).flatten(channel, channel + 1)


class BatchNorm(Function):
    """(input (N, C, ...), weight (C) or None, bias (C) or None, eps) -> (output, mean, invstd); only the output has a gradient."""

    @staticmethod
    def forward(input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        """Normalise by the batch's own statistics."""
        # Without no_grad: inside torch.func.grad, torch.compile differentiates this instead of calling backward.
        mean, invstd = _statistics(input, eps)
        return _normalise(input, weight, bias, mean, invstd, eps), mean, invstd

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
        """Keep the input and the statistics."""
        input, weight, bias, ctx.eps = inputs
        _, mean, invstd = output
        ctx.mark_non_differentiable(mean, invstd)
        ctx.bias_dtype = None if bias is None else bias.dtype
        ctx.save_for_backward(input, weight, mean, invstd)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, *unused: Any) -> tuple[Tensor | None, ...]:
        """Form the sums and call the entry point."""
        input, weight, mean, invstd = ctx.saved_tensors
        if torch.is_grad_enabled():  # it may be differentiated again, through the statistics too
            mean, invstd = _statistics(input, ctx.eps)
        sum_dy, sum_dy_xmu = _sums(grad_output, input, mean, invstd)
        count = torch.full((1,), input.numel() // input.shape[1], dtype=torch.int32, device=input.device)
        grad_input = BatchNormElemtBackward.call(grad_output, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count)
        grad_weight = None if weight is None else (sum_dy_xmu * invstd).to(weight.dtype)
        grad_bias = None if ctx.bias_dtype is None else sum_dy.to(ctx.bias_dtype)
        return grad_input, grad_weight, grad_bias, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], input: Tensor, weight: Any, bias: Any, eps: float) -> tuple[Any, Any]:
        """Treat the mapped dimension as more channels."""
        batch = info.batch_size
        folded = (
            _fold(input, in_dims[0], batch, 1),
            _fold(weight, in_dims[1], batch, 0),
            _fold(bias, in_dims[2], batch, 0),
        )
        output, mean, invstd = BatchNorm.apply(*folded, eps)
        return (output.unflatten(1, (batch, -1)), mean.unflatten(0, (batch, -1)), invstd.unflatten(0, (batch, -1))), (
            1,
            0,
            0,
        )


def train_batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """Normalise by the batch's own statistics and update the running ones; the arguments are those of torch's ``batch_norm``."""
    output, mean, invstd = BatchNorm.call(input, weight, bias, eps)
    update_running_statistics(input, running_mean, running_var, mean, invstd, momentum, eps)
    return output


class BatchNormElemtBackward(Function):
    """(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count) -> grad_input, by aclnnBatchNormElemtBackward.

    grad_input = ((grad_out - sum_dy/n) - (input - mean) * invstd^2 * sum_dy_xmu/n) * invstd * weight, with n the sum of count.
    """

    @staticmethod
    def forward(
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        invstd: Tensor,
        weight: Tensor | None,
        sum_dy: Tensor,
        sum_dy_xmu: Tensor,
        count: Tensor,
    ) -> Tensor:
        """Call the entry point."""
        return _backward(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep all: the map is a product of most of them."""
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Differentiate the formula by each of its tensors."""
        dy, x, mean, invstd, weight, sum_dy, sum_dy_xmu, count = ctx.saved_tensors
        n = count.sum()
        gamma = torch.ones_like(invstd) if weight is None else weight.to(invstd.dtype)
        slope, scale = invstd.square() * sum_dy_xmu / n, invstd * gamma
        centred = x.to(mean.dtype) - _per_channel(mean, x)
        bracket = dy.to(mean.dtype) - _per_channel(sum_dy / n, x) - centred * _per_channel(slope, x)
        g = grad.to(mean.dtype) * _per_channel(scale, x)
        sum_g, sum_g_xmu = _sum_over_samples(g), _sum_over_samples(g * centred)
        by_scale = _sum_over_samples(grad.to(mean.dtype) * bracket)
        return (
            g.to(dy.dtype),
            (-g * _per_channel(slope, x)).to(x.dtype),
            sum_g * slope,
            by_scale * gamma - sum_g_xmu * 2 * invstd * sum_dy_xmu / n,
            None if weight is None else (by_scale * invstd).to(weight.dtype),
            -sum_g / n,
            -sum_g_xmu * invstd.square() / n,
            None,
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more channels."""
        count, count_dim = tensors[-1], in_dims[-1]
        if count_dim is not None:
            raise NotImplementedError("BatchNormElemtBackward: count: expected the same for every element of vmap, got a mapped tensor")
        channel = (1, 1, 0, 0, 0, 0, 0)
        folded = [_fold(t, d, info.batch_size, c) for t, d, c in zip(tensors[:-1], in_dims[:-1], channel, strict=True)]
        return BatchNormElemtBackward.apply(*folded, count).unflatten(1, (info.batch_size, -1)), 1
