"""The five operators in float64, straight from their definitions. Slow, and independent of the kernels."""

import torch
from torch import Tensor


def avg_pool2d_backward(grad_output: Tensor, input_size, kernel, stride, padding, count_include_pad=True, divisor_override=None) -> Tensor:
    """Add grad_output / divisor to each cell of each window."""
    grad = grad_output.double()
    result = torch.zeros(input_size, dtype=torch.float64)
    height, width = input_size[-2:]
    for oh in range(grad.shape[-2]):
        for ow in range(grad.shape[-1]):
            top, left = oh * stride[0] - padding[0], ow * stride[1] - padding[1]
            bottom, right = min(top + kernel[0], height + padding[0]), min(left + kernel[1], width + padding[1])
            size = (bottom - top) * (right - left)
            top, left, bottom, right = max(top, 0), max(left, 0), min(bottom, height), min(right, width)
            clipped = (bottom - top) * (right - left)
            divisor = divisor_override or (size if count_include_pad else clipped)
            result[..., top:bottom, left:right] += grad[..., oh : oh + 1, ow : ow + 1] / divisor
    return result


def adaptive_avg_pool2d_backward(grad_output: Tensor, input_size) -> Tensor:
    """Add grad_output / window to each cell of each window from floor(o * in / out) to ceil((o + 1) * in / out)."""
    grad = grad_output.double()
    result = torch.zeros(input_size, dtype=torch.float64)

    def window(o: int, size: int, out: int) -> tuple[int, int]:
        return o * size // out, -(-(o + 1) * size // out)

    for oh in range(grad.shape[-2]):
        for ow in range(grad.shape[-1]):
            top, bottom = window(oh, input_size[-2], grad.shape[-2])
            left, right = window(ow, input_size[-1], grad.shape[-1])
            result[..., top:bottom, left:right] += grad[..., oh : oh + 1, ow : ow + 1] / ((bottom - top) * (right - left))
    return result


def replication_pad2d_backward(grad_output: Tensor, input_size, padding) -> Tensor:
    """Add each cell of grad_output to the input cell that it repeats."""
    grad = grad_output.to(torch.complex128 if grad_output.is_complex() else torch.float64)
    result = torch.zeros(input_size, dtype=grad.dtype)
    left, _, top, _ = padding
    for i in range(grad.shape[-2]):
        for j in range(grad.shape[-1]):
            h, w = min(max(i - top, 0), input_size[-2] - 1), min(max(j - left, 0), input_size[-1] - 1)
            result[..., h, w] += grad[..., i, j]
    return result


def max_unpool3d_backward(grad_output: Tensor, indices: Tensor) -> Tensor:
    """Take each element from where its index says."""
    return grad_output.flatten(-3).gather(-1, indices.flatten(-3)).view(indices.shape)


def batch_norm_elemt_backward(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count) -> Tensor:
    """The formula, in float64."""
    shape = (1, -1, *[1] * (input.dim() - 2))
    mean, invstd, sum_dy, sum_dy_xmu = (t.double().view(shape) for t in (mean, invstd, sum_dy, sum_dy_xmu))
    weight = torch.ones_like(mean) if weight is None else weight.double().view(shape)
    n = count.double().sum()
    slope = invstd * invstd * sum_dy_xmu / n
    return ((grad_out.double() - sum_dy / n) - (input.double() - mean) * slope) * invstd * weight


def assert_rounded_once(actual: Tensor, exact: Tensor, scale: Tensor | None = None) -> None:
    """Check that `actual` is `exact` rounded once, or its neighbour.

    For float32 the error may be a few units in the last place of `scale`, the magnitude of what was summed (by default of the result's
    largest element), because terms that cancel leave their rounding behind.
    """
    actual = actual.detach().cpu()
    assert actual.shape == exact.shape
    if not actual.is_floating_point() or actual.dtype == torch.float64:
        tolerance = 0 if not (actual.is_floating_point() or actual.is_complex()) else 1e-13
        torch.testing.assert_close(actual, exact.to(actual.dtype), rtol=tolerance, atol=tolerance)
    elif actual.dtype == torch.float32:
        bound = (exact.abs().max() if scale is None else scale) * 2**-23 * 4 if exact.numel() else 0
        assert ((actual.double() - exact).abs() <= bound).all()
    else:
        assert (_ordered_bits(actual) - _ordered_bits(exact.to(actual.dtype))).abs().max() <= 1 if actual.numel() else True


def _ordered_bits(values: Tensor) -> Tensor:
    """Map 16-bit floats to integers in which neighbours differ by one."""
    bits = values.contiguous().view(torch.int16).int()
    return torch.where(bits < 0, -(bits & 0x7FFF), bits)
