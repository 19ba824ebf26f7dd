"""The five operators in float64 on the CPU, straight from their definitions."""

import torch
from torch import Tensor


def avg_pool2d_backward(
    grad_output: Tensor,
    input_size: tuple[int, ...],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    """Give each output's gradient, divided, to every input cell of its window; ceil_mode has decided the number of windows already."""
    result = torch.zeros(input_size, dtype=torch.float64)
    height, width = input_size[-2:]
    for i in range(grad_output.shape[-2]):
        for j in range(grad_output.shape[-1]):
            rows, columns = i * stride[0] - padding[0], j * stride[1] - padding[1]
            rows_end, columns_end = min(rows + kernel[0], height + padding[0]), min(columns + kernel[1], width + padding[1])
            padded_area = (rows_end - rows) * (columns_end - columns)
            cells = (..., slice(max(rows, 0), min(rows_end, height)), slice(max(columns, 0), min(columns_end, width)))
            area = result[cells].shape[-2] * result[cells].shape[-1]
            divisor = divisor_override or (padded_area if count_include_pad else area)
            result[cells] += grad_output[..., i, j, None, None].double() / divisor
    return result


def adaptive_avg_pool2d_backward(grad_output: Tensor, input_size: tuple[int, ...]) -> Tensor:
    """Do the same with windows from floor(o * size / out) to ceil((o + 1) * size / out)."""
    result = torch.zeros(input_size, dtype=torch.float64)
    rows, columns = (_windows(size, out) for size, out in zip(input_size[-2:], grad_output.shape[-2:], strict=True))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            area = (row.stop - row.start) * (column.stop - column.start)
            result[..., row, column] += grad_output[..., i, j, None, None].double() / area
    return result


def _windows(size: int, out: int) -> list[slice]:
    return [slice(o * size // out, -(-(o + 1) * size // out)) for o in range(out)]


def replication_pad2d_backward(grad_output: Tensor, input_size: tuple[int, ...], padding: tuple[int, int, int, int]) -> Tensor:
    """Add each output's gradient to the input cell that it repeats."""
    grad = grad_output.to(torch.complex128 if grad_output.is_complex() else torch.float64)
    result = torch.zeros(input_size, dtype=grad.dtype)
    left, _, top, _ = padding
    for i in range(grad.shape[-2]):
        for j in range(grad.shape[-1]):
            row, column = min(max(i - top, 0), input_size[-2] - 1), min(max(j - left, 0), input_size[-1] - 1)
            result[..., row, column] += grad[..., i, j]
    return result


def max_unpool3d_backward(grad_output: Tensor, indices: Tensor) -> Tensor:
    """Take each element from where its index says, in its flattened plane."""
    return grad_output.flatten(-3).gather(-1, indices.flatten(-3)).view(indices.shape)


def batch_norm_elemt_backward(
    grad_out: Tensor, input: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor, sum_dy: Tensor, sum_dy_xmu: Tensor, count: Tensor
) -> tuple[Tensor, Tensor]:
    """Return ((dy - sum_dy / n) - (x - mean) * invstd^2 * sum_dy_xmu / n) * invstd * weight, and the same with each term positive."""
    shape = (-1, *[1] * (input.dim() - 2))
    mean, invstd, weight, sum_dy, sum_dy_xmu = (t.double().view(shape) for t in (mean, invstd, weight, sum_dy, sum_dy_xmu))
    n = count.double().sum()
    terms = grad_out.double(), sum_dy / n, (input.double() - mean) * invstd**2 * sum_dy_xmu / n
    scale = invstd * weight
    return (terms[0] - terms[1] - terms[2]) * scale, (terms[0].abs() + terms[1].abs() + terms[2].abs()) * scale.abs()
