"""Inputs for the operators: documented dtypes and arguments only, so that any device whose operators keep their documents can pass."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
COMPLEX = (torch.complex64, torch.complex128)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True)
class Sample:
    """One call of an operator: its tensors and its other arguments.

    Attributes:
        tensors: on the CPU; the first `arranged` may lie in memory in any way.
        arguments: what follows the tensors.
        expected: computes, in float64 on the CPU, the result and the sum of its terms' magnitudes.

    """

    tensors: tuple[Tensor, ...]
    arguments: tuple[Any, ...]
    expected: Callable[[], tuple[Tensor, Tensor]]
    arranged: int = 1

    def to(self, device: str) -> "Sample":
        """Return the same call with its tensors on a device."""
        return replace(self, tensors=tuple(t.to(device) for t in self.tensors))


def random(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return the same normally distributed values (of integers: 0 to 126) for a shape each time."""
    generator = torch.Generator().manual_seed(sum(shape))
    if dtype in INTEGERS:
        return torch.randint(0, 127, shape, generator=generator).to(dtype)
    return torch.randn(shape, generator=generator, dtype=dtype if dtype in COMPLEX else torch.float64).to(dtype)


def linear_sample(definition: Callable[..., Tensor], dtype: torch.dtype, grad_size: tuple[int, ...], *arguments: Any) -> Sample:
    """Return a call whose only tensor is grad_output, in which the operator is linear."""
    grad_output = random(grad_size, dtype)
    return Sample(
        (grad_output,), arguments, lambda: (definition(grad_output, *arguments), definition(_magnitudes(grad_output), *arguments))
    )


def _magnitudes(values: Tensor) -> Tensor:
    return torch.complex(values.real.abs(), values.imag.abs()) if values.is_complex() else values.abs()
