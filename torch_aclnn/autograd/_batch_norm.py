"""Batch norm over the batch's own statistics, whose element-wise gradient is aclnnBatchNormElemtBackward.

The batch may be spread over the processes of a group: then statistics are joined in the forward, in one collective, and sums in the
backward, in another. Without a group the arithmetic is the same.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_aclnn.autograd._batch_norm_steps import (
    count_of,
    differentiable_statistics,
    inverse_deviation,
    normalise,
    statistics,
    sums,
    update_running_statistics,
)
from torch_aclnn.autograd._function import Function
from torch_aclnn.autograd._process_group import ProcessGroup, sum_over_processes

_backward = torch.ops.torch_aclnn.batch_norm_elemt_backward.default
_derivative = torch.ops.torch_aclnn._batch_norm_elemt_backward_derivative.default


def _fold(values: Tensor | None, dim: int | None, batch_size: int, channel: int) -> Tensor | None:
    """Move a mapped dimension in front of the channels and make one dimension of both: channels are never mixed."""
    if values is None:
        return None
    moved = values.movedim(dim, 0) if dim is not None else values.expand(batch_size, *values.shape)
    return moved.movedim(0, channel).flatten(channel, channel + 1)


class BatchNorm(Function):
    """(input (N, C, ...), weight (C) or None, bias (C) or None, eps, group or None) -> (output, mean, variance, count).

    Only the output has a gradient. With a group the input is this process's part of the batch, the gradient is that of the sum of what all
    processes differentiate, and count is the elements per channel of all; weight and bias get the gradients of this part.
    """

    @staticmethod
    def forward(
        input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, group: ProcessGroup | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Normalise by the batch's own statistics."""
        # There is no no_grad() here: inside torch.func.grad, torch.compile differentiates this instead of calling backward.
        mean, variance, count = statistics(input, group)
        return normalise(input, weight, bias, mean, inverse_deviation(variance, eps), eps), mean, variance, count

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
        """Keep the input and the statistics, and the count if it depends on other processes."""
        input, weight, bias, ctx.eps, ctx.group = inputs
        _, mean, variance, count = output
        ctx.mark_non_differentiable(mean, variance, count)
        ctx.set_materialize_grads(False)  # otherwise a launch would fill each missing gradient with zeros
        ctx.bias_dtype = None if bias is None else bias.dtype
        ctx.save_for_backward(input, weight, mean, variance, None if ctx.group is None else count)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor | None, *unused: Any) -> tuple[Tensor | None, ...]:
        """Form the sums and call the entry point."""
        input, weight, mean, variance, joint_count = ctx.saved_tensors
        if grad_output is None:
            grad_output = torch.zeros_like(input)
        count = count_of(input) if joint_count is None else joint_count
        if torch.is_grad_enabled():  # the gradient may be differentiated again, also through the statistics
            mean, variance = differentiable_statistics(input, count, ctx.group)
        invstd = inverse_deviation(variance, ctx.eps)
        sum_dy, sum_dy_xmu = sums(grad_output, input, mean, invstd)
        grad_input = None
        if ctx.needs_input_grad[0]:  # the condition is equal in all processes; otherwise they would wait for each other
            joint = sum_over_processes(ctx.group, sum_dy, sum_dy_xmu)
            grad_input = BatchNormElemtBackward.call(grad_output, input, mean, invstd, weight, *joint, count)
        grad_weight = None if weight is None else (sum_dy_xmu * invstd).to(weight.dtype)
        grad_bias = None if ctx.bias_dtype is None else sum_dy.to(ctx.bias_dtype)
        return grad_input, grad_weight, grad_bias, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], input: Tensor, weight: Any, bias: Any, eps: float, group: ProcessGroup | None
    ) -> tuple[Any, Any]:
        """Treat the mapped dimension as more channels."""
        batch = info.batch_size
        folded = (_fold(input, in_dims[0], batch, 1), _fold(weight, in_dims[1], batch, 0), _fold(bias, in_dims[2], batch, 0))
        output, mean, variance, count = BatchNorm.apply(*folded, eps, group)
        joined = (values.unflatten(0, (batch, -1)) for values in (mean, variance))
        return (output.unflatten(1, (batch, -1)), *joined, count), (1, 0, 0, None)


class Arguments(NamedTuple):
    """The arguments of torch's ``batch_norm``."""

    input: Tensor
    running_mean: Tensor | None
    running_var: Tensor | None
    weight: Tensor | None
    bias: Tensor | None
    training: bool
    momentum: float
    eps: float


def train_batch_norm(call: Arguments, group: ProcessGroup | None = None) -> Tensor:
    """Normalise by the batch's own statistics and update the running ones."""
    output, mean, variance, count = BatchNorm.call(call.input, call.weight, call.bias, call.eps, group)
    if call.input.numel() > 0 or count.item() > 0:  # a batch that is empty in all processes has no statistics
        update_running_statistics(call.running_mean, call.running_var, mean, variance, count, call.momentum)
    return output


def composed_batch_norm(call: Arguments) -> Tensor:
    """:func:`train_batch_norm`, composed of operators that have derivatives in forward and in reverse mode.

    Torch's formulas for forward mode and for second derivatives read the third result of ``native_batch_norm`` as 1/sqrt(variance + eps),
    which it is not on ``npu``.
    """
    count = count_of(call.input)
    mean, variance = differentiable_statistics(call.input, count, None)
    update_running_statistics(call.running_mean, call.running_var, mean.detach(), variance.detach(), count, call.momentum)
    return normalise(call.input, call.weight, call.bias, mean, inverse_deviation(variance, call.eps), call.eps)


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
        """Keep all tensors: the derivatives need most of them."""
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Differentiate the formula by each of its tensors."""
        return *_derivative(grad, *ctx.saved_tensors), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Any) -> tuple[Tensor, int]:
        """Treat the mapped dimension as more channels."""
        count, count_dim = tensors[-1], in_dims[-1]
        if count_dim is not None:
            raise NotImplementedError("BatchNormElemtBackward: count: expected the same for every element of vmap, got a mapped tensor")
        channel = (1, 1, 0, 0, 0, 0, 0)
        folded = [_fold(t, d, info.batch_size, c) for t, d, c in zip(tensors[:-1], in_dims[:-1], channel, strict=True)]
        return BatchNormElemtBackward.apply(*folded, count).unflatten(1, (info.batch_size, -1)), 1
