"""Inputs for the operators: documented dtypes and arguments only, so that any device whose operators keep their documents can pass."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_aclnn.check import oracle

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_COMPLEX = (torch.complex64, torch.complex128)
_INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
_ops = torch.ops.torch_aclnn


@dataclass(frozen=True)
class Sample:
    """One call of an operator: tensors on the CPU and the other arguments, with the result and the sum of its terms' magnitudes.

    The first `arranged` tensors may lie in memory in any way.
    """

    tensors: tuple[Tensor, ...]
    arguments: tuple[Any, ...]
    expected: Callable[[], tuple[Tensor, Tensor]]
    arranged: int = 1


@dataclass(frozen=True)
class Operator:
    """An operator, its documented dtypes, small samples and a larger one."""

    call: Callable[..., Tensor]
    dtypes: tuple[torch.dtype, ...]
    sample: Callable[..., Sample]
    small: tuple[tuple[Any, ...], ...]
    large: tuple[Any, ...]

    def samples(self, dtype: torch.dtype) -> Iterator[Sample]:
        """Return the small samples."""
        return (self.sample(dtype, *geometry) for geometry in self.small)


def _random(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    if dtype in _INTEGERS:
        return torch.randint(0, 127, shape, generator=generator).to(dtype)
    return torch.randn(shape, generator=generator, dtype=dtype if dtype in _COMPLEX else torch.float64).to(dtype)


def _magnitudes(values: Tensor) -> Tensor:
    return torch.complex(values.real.abs(), values.imag.abs()) if values.is_complex() else values.abs()


def _linear(operator: str, dtype: torch.dtype, grad_size: tuple[int, ...], *arguments: Any) -> Sample:
    grad_output = _random(grad_size, dtype)

    def expected() -> tuple[Tensor, Tensor]:
        definition = getattr(oracle, f"{operator}_backward")
        return definition(grad_output, *arguments), definition(_magnitudes(grad_output), *arguments)

    return Sample((grad_output,), arguments, expected)


def _avg_pool2d(dtype: torch.dtype, size: tuple[int, ...], *arguments: Any) -> Sample:
    pooled = torch.nn.functional.avg_pool2d(torch.empty(size, device="meta"), *arguments).shape
    return _linear("avg_pool2d", dtype, pooled, size, *arguments)


def _adaptive_avg_pool2d(dtype: torch.dtype, size: tuple[int, ...], out: tuple[int, int]) -> Sample:
    return _linear("adaptive_avg_pool2d", dtype, (*size[:-2], *out), size)


def _replication_pad2d(dtype: torch.dtype, size: tuple[int, ...], padding: tuple[int, int, int, int]) -> Sample:
    left, right, top, bottom = padding
    padded = (*size[:-2], size[-2] + top + bottom, size[-1] + left + right)
    return _linear("replication_pad2d", dtype, padded, size, padding)


def _max_unpool3d(dtype: torch.dtype, planes: tuple[int, ...], pooled: tuple[int, int, int]) -> Sample:
    """Unpool by a kernel and stride of 2: each index is one of the eight cells of its window."""
    size = tuple(2 * s for s in pooled)
    rows = [torch.arange(s).view([-1 if d == k else 1 for k in range(3)]) for d, s in enumerate(pooled)]
    offsets = torch.randint(0, 2, (3, *planes, *pooled), generator=torch.Generator().manual_seed(7))
    depth, row, column = (2 * rows[d] + offsets[d] for d in range(3))
    indices = (depth * size[1] + row) * size[2] + column
    grad_output = _random((*planes, *size), dtype)

    def expected() -> tuple[Tensor, Tensor]:
        result = oracle.max_unpool3d_backward(grad_output, indices)
        return result, result

    return Sample((grad_output, indices), (size, (2, 2, 2), (0, 0, 0)), expected, arranged=2)


def _batch_norm_elemt(dtype: torch.dtype, size: tuple[int, ...]) -> Sample:
    dy, x = _random(size, dtype), (_random((*size, 1), dtype)[..., 0] * 2 + 1).to(dtype)
    samples = [d for d in range(len(size)) if d != 1]
    shape = (-1, *[1] * (len(size) - 2))
    mean = x.double().mean(samples).float()
    centred = x.double() - mean.view(shape)
    invstd = (centred.square().mean(samples) + 1e-5).rsqrt().float()
    sum_dy, sum_dy_xmu = dy.double().sum(samples).float(), (dy.double() * centred).sum(samples).float()
    weight = _random((size[1],), torch.float32)
    count = torch.tensor([x.numel() // size[1]], dtype=torch.int32)
    tensors = (dy, x, mean, invstd, weight, sum_dy, sum_dy_xmu, count)
    return Sample(tensors, (), lambda: oracle.batch_norm_elemt_backward(*tensors), arranged=2)


BY_NAME = {
    "avg_pool2d": Operator(
        _ops.avg_pool2d_backward.default,
        _FLOATS,
        _avg_pool2d,
        (
            ((2, 3, 9, 8), (3, 2), (2, 1), (1, 1), False, False, None),
            ((2, 3, 7, 10), (3, 3), (2, 2), (1, 0), True, True, None),
            ((1, 16, 6, 6), (2, 2), (2, 2), (0, 0), False, True, 5),
            ((3, 7, 7), (4, 4), (1, 1), (2, 2), False, True, None),
        ),
        ((4, 32, 64, 64), (3, 3), (2, 2), (1, 1), False, True, None),
    ),
    "adaptive_avg_pool2d": Operator(
        _ops.adaptive_avg_pool2d_backward.default,
        _FLOATS,
        _adaptive_avg_pool2d,
        (((2, 3, 9, 8), (4, 3)), ((1, 16, 6, 6), (1, 1)), ((2, 3, 5, 6), (5, 4)), ((3, 7, 7), (2, 5))),
        ((4, 32, 64, 64), (7, 7)),
    ),
    "replication_pad2d": Operator(
        _ops.replication_pad2d_backward.default,
        (*_FLOATS, torch.float64, *_COMPLEX),
        _replication_pad2d,
        (((2, 3, 6, 7), (2, 1, 3, 0)), ((1, 16, 5, 5), (4, 4, 4, 4)), ((3, 6, 6), (1, 1, 1, 1))),
        ((4, 32, 64, 64), (3, 3, 3, 3)),
    ),
    "max_unpool3d": Operator(
        _ops.max_unpool3d_backward.default,
        (torch.float32, torch.float16, torch.float64, *_INTEGERS),
        _max_unpool3d,
        (((2, 3), (2, 3, 2)), ((3,), (1, 4, 4))),
        ((2, 16), (4, 16, 16)),
    ),
    "batch_norm_elemt": Operator(
        _ops.batch_norm_elemt_backward.default,
        _FLOATS,
        _batch_norm_elemt,
        (((4, 3, 5, 6),), ((8, 5),), ((2, 3, 2, 4, 3),)),
        ((4, 32, 64, 64),),
    ),
}
