"""Pooling and padding: operators that read grad_output and write grad_input, plane by plane."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch_aclnn._operators import BY_NAME

from benchmarks.aten import into
from benchmarks.case import Case, Work


@dataclass(frozen=True, kw_only=True)
class PlaneCase(Case):
    """An operator that reads grad_output and writes grad_input; of the forward's input it reads the sizes."""

    def work(self) -> Work:
        """Make grad_output, and an input of the forward whose values are never read."""
        grad_output, arguments = self.randn(self.output_shape()), self.arguments()
        input = torch.empty(self.shape, dtype=self.dtype, memory_format=self.memory_format)
        out = torch.empty_like(input)
        operator = BY_NAME[self.operator]
        aten = getattr(torch.ops.aten, operator.aten_backward)
        return Work(
            inputs=(grad_output, input),
            out=out,
            bytes=grad_output.nbytes + out.nbytes,
            ours=partial(getattr(torch.ops.torch_aclnn, operator.backward).self_out, grad_output, input, *arguments, out=out),
            aten=into(aten, out, grad_output, input, *arguments),
            formula=lambda grad_output, input: aten.default(grad_output, input, *arguments),
        )

    def output_shape(self) -> tuple[int, ...]:
        """Return the sizes of the forward's output."""
        raise NotImplementedError

    def arguments(self) -> tuple[Any, ...]:
        """Return what both operators take behind the sizes."""
        raise NotImplementedError
