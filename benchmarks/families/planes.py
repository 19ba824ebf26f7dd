"""Pooling and padding: operators that read grad_output and write grad_input, plane by plane."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.aten import into
from benchmarks.case import Case, Work


@dataclass(frozen=True, kw_only=True)
class PlaneCase(Case):
    """An operator that reads grad_output and the sizes of the forward's input, and writes grad_input."""

    def work(self) -> Work:
        """Make grad_output, and an input of the forward whose values are never read."""
        grad_output, arguments = self.randn(self.output_shape()), self.arguments()
        input = torch.empty(self.shape, dtype=self.dtype, memory_format=self.memory_format)
        out = torch.empty_like(input)
        ours = getattr(torch.ops.torch_aclnn, self.operator.backward).out
        return Work(
            inputs=(grad_output, input),
            out=out,
            bytes=grad_output.nbytes + out.nbytes,
            ours=partial(ours, grad_output, self.shape, *arguments, out=out),
            aten=self.aten_into(out, grad_output, input),
            formula=self.formula,
        )

    def aten_into(self, out: Tensor, grad_output: Tensor, input: Tensor) -> Callable[[], Any]:
        """Return a call of ATen's operator that writes into `out`."""
        return into(getattr(torch.ops.aten, str(self.operator.aten_backward)), out, grad_output, input, *self.arguments())

    def formula(self, grad_output: Tensor, input: Tensor) -> Tensor:
        """Compute the gradient by ATen's operator, for which a compiler may generate code."""
        aten = getattr(torch.ops.aten, str(self.operator.aten_backward))
        return aten.default(grad_output, input, *self.arguments())

    def output_shape(self) -> tuple[int, ...]:
        """Return the sizes of the forward's output."""
        raise NotImplementedError

    def arguments(self) -> tuple[Any, ...]:
        """Return what both operators take behind the sizes."""
        raise NotImplementedError
