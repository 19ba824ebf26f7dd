"""The steps of batch norm: statistics and an element-wise map in the forward, sums in the backward, and the running statistics.

On ``npu`` each step is torch's operator for it; ATen has no CPU kernels for them.
"""

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import is_in_torch_dispatch_mode, is_traceable_wrapper_subclass
from torch_aclnn.autograd._function import cast
from torch_aclnn.autograd._process_group import ProcessGroup, gather, sum_over_processes


def per_channel(values: Tensor, like: Tensor) -> Tensor:
    """Return one value for each channel in a shape that broadcasts to another tensor."""
    return values.view(-1, *[1] * (like.dim() - 2))


def _samples(values: Tensor) -> list[int]:
    return [d for d in range(values.dim()) if d != 1]


def sum_over_samples(values: Tensor) -> Tensor:
    """Return the sum of each channel."""
    return values.sum(_samples(values))


def _statistics_type(input: Tensor) -> torch.dtype:
    return torch.float32 if input.dtype in (torch.float16, torch.bfloat16) else input.dtype


def _is_observed(input: Tensor) -> bool:
    """Return whether the steps are differentiated or traced."""
    differentiated = torch.is_grad_enabled() or forward_ad._current_level >= 0
    return differentiated or torch.compiler.is_compiling() or is_in_torch_dispatch_mode() or is_traceable_wrapper_subclass(input)


def _uses_device_operators(input: Tensor) -> bool:
    # Torch's operators for the steps have no derivatives and no meta kernels. So the plain form is used where the steps are observed, and
    # for float64, of which they compute in float32. Nothing is promised about what they make of an empty tensor.
    return input.device.type == "npu" and input.dtype != torch.float64 and not _is_observed(input) and input.numel() > 0


def count_of(input: Tensor) -> Tensor:
    """Return how many elements each channel has, as a tensor of one element, of the statistics' type."""
    return torch.full((1,), input.numel() // input.shape[1], dtype=_statistics_type(input), device=input.device)


def statistics(input: Tensor, group: ProcessGroup | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return mean and variance per channel, and the count of elements per channel, of the batch that the processes share."""
    if _uses_device_operators(input):
        variance, mean = torch.var_mean(input.to(_statistics_type(input)), _samples(input), correction=0)
    else:
        mean, variance = differentiable_statistics(input, input.numel() // input.shape[1], None)
    count = count_of(input)
    if group is None:
        return mean, variance, count
    channels = mean.numel()
    means, variances, counts = gather(torch.cat((mean, variance, count)), group).split((channels, channels, 1), 1)
    return _join(means, variances, counts, input)


def differentiable_statistics(input: Tensor, count: Tensor | int, group: ProcessGroup | None) -> tuple[Tensor, Tensor]:
    """Return mean and variance per channel of the shared batch, of known count, such that this process's part can be differentiated."""
    x = input.to(_statistics_type(input))
    (total,) = sum_over_processes(group, sum_over_samples(x))
    mean = total / count
    (squares,) = sum_over_processes(group, sum_over_samples((x - per_channel(mean, x)).square()))
    return mean, squares / count


def inverse_deviation(variance: Tensor, eps: float) -> Tensor:
    """Return 1/sqrt(variance + eps); the variance cannot be recovered from it, because it may be far below eps."""
    return (variance + eps).rsqrt()


def _join(means: Tensor, variances: Tensor, counts: Tensor, input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the statistics of a batch from those of its parts, a row each."""
    sizes = [int(size) for (size,) in counts.tolist()]
    total = sum(sizes)
    if total == 1:
        got = f"shape {tuple(input.shape)} in this process and one value in all"
        raise ValueError(f"sync_batch_norm: input: expected more than one value per channel in training, got {got}")
    count = torch.full((1,), total, dtype=means.dtype, device=means.device)
    if total == 0:
        return torch.zeros_like(means[0]), torch.zeros_like(variances[0]), count
    if 0 in sizes:  # a part without elements has no statistics
        filled = torch.tensor([row for row, size in enumerate(sizes) if size > 0], device=means.device)
        means, variances, counts = (values.index_select(0, filled) for values in (means, variances, counts))
    # The mean of the parts' variances and the variance of their means, neither of which cancels; the first mean serves as the origin.
    share = counts / total
    mean = means[0] + (share * (means - means[0])).sum(0)
    return mean, (share * (variances + (means - mean).square())).sum(0), count


@torch.no_grad()
def update_running_statistics(
    running_mean: Tensor | None, running_var: Tensor | None, mean: Tensor, variance: Tensor, count: Tensor, momentum: float
) -> None:
    """Move the running statistics towards the batch's, the variance towards the unbiased one."""
    if running_mean is not None:
        _move(running_mean, mean, momentum)
    if running_var is not None:
        _move(running_var, variance * (count / (count - 1)), momentum)


def _move(running: Tensor, batch: Tensor, momentum: float) -> None:
    wide = running.to(torch.promote_types(running.dtype, batch.dtype))
    running.copy_((wide * (1 - momentum)).add_(batch, alpha=momentum))


def normalise(input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float) -> Tensor:
    """Return the normalised, scaled and shifted input, of its dtype."""
    if _uses_device_operators(input):
        return torch.batch_norm_elemt(input, weight, bias, mean, invstd, eps)
    output = (input.to(mean.dtype) - per_channel(mean, input)) * per_channel(invstd, input)
    if weight is not None:
        output = output * per_channel(weight, input)
    if bias is not None:
        output = output + per_channel(bias, input)
    return cast(output, input.dtype)


def sums(grad_output: Tensor, input: Tensor, mean: Tensor, invstd: Tensor) -> tuple[Tensor, Tensor]:
    """Return, per channel, the sum of dy and the sum of dy * (x - mean)."""
    if _uses_device_operators(input):
        sum_dy, sum_dy_xmu, _, _ = torch.batch_norm_backward_reduce(grad_output, input, mean, invstd, None, True, False, False)
        return sum_dy, sum_dy_xmu
    dy = grad_output.to(mean.dtype)
    return sum_over_samples(dy), sum_over_samples(dy * (input.to(mean.dtype) - per_channel(mean, input)))
