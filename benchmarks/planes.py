"""Pooling and padding: operators that read grad_output and write grad_input, plane by plane."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from benchmarks.case import Case, Work, times

aten, ours = torch.ops.aten, torch.ops.torch_aclnn


@dataclass(frozen=True, kw_only=True)
class PlaneCase(Case):
    """An operator that reads grad_output and writes grad_input; ATen also wants the forward's input, of which it reads the sizes."""

    def work(self) -> Work:
        """Make grad_output and an input of the forward that nobody reads."""
        grad_output, arguments = self.randn(self.output_shape()), self.arguments()
        input = torch.empty(self.shape, dtype=self.dtype, memory_format=self.memory_format)
        out = torch.empty_like(input)
        ours_out, aten_out, functional, out_name = self.overloads()
        return Work(
            inputs=(grad_output, input),
            out=out,
            bytes=grad_output.nbytes + out.nbytes,
            ours=partial(ours_out, grad_output, self.shape, *arguments, out=out),
            aten=partial(aten_out, grad_output, input, *arguments, **{out_name: out}),
            formula=lambda grad_output, input: functional(grad_output, input, *arguments),
        )

    def output_shape(self) -> tuple[int, ...]:
        """Return the sizes of the forward's output."""
        raise NotImplementedError

    def arguments(self) -> tuple[Any, ...]:
        """Return what both operators take behind the sizes."""
        raise NotImplementedError

    def overloads(self) -> tuple[Any, Any, Any, str]:
        """Return our out overload, ATen's, ATen's functional one, and what ATen's calls its out."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class AvgPool2d(PlaneCase):
    """The gradient of avg_pool2d."""

    operator = "avg_pool2d"
    kernel: int
    stride: int
    padding: int = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

    @property
    def group(self) -> str:
        """The two layouts have loops of their own."""
        return self.operator + " channels_last" * self.channels_last

    def details(self) -> tuple[str, ...]:
        """Return the window, and what is not the default."""
        window = f"k{self.kernel}s{self.stride}" + (f"p{self.padding}" if self.padding else "")
        divisor = f"divisor_override={self.divisor_override}" if self.divisor_override else ""
        return window, "ceil_mode" * self.ceil_mode, "count_include_pad=False" * (not self.count_include_pad), divisor

    def arguments(self) -> tuple[Any, ...]:
        """Return the window and the divisor."""
        kernel, stride, padding = ([value] * 2 for value in (self.kernel, self.stride, self.padding))
        return kernel, stride, padding, self.ceil_mode, self.count_include_pad, self.divisor_override

    def output_shape(self) -> tuple[int, ...]:
        """Ask the forward."""
        return tuple(F.avg_pool2d(torch.empty(self.shape, device="meta"), *self.arguments()).shape)

    def overloads(self) -> tuple[Any, Any, Any, str]:
        """Name the operators."""
        return ours.avg_pool2d_backward.out, aten.avg_pool2d_backward.grad_input, aten.avg_pool2d_backward.default, "grad_input"


@dataclass(frozen=True, kw_only=True)
class AdaptiveAvgPool2d(PlaneCase):
    """The gradient of adaptive_avg_pool2d."""

    operator = "adaptive_avg_pool2d"
    output_size: tuple[int, int]

    def details(self) -> tuple[str, ...]:
        """Return the size pooled to."""
        return (f"to {times(self.output_size)}",)

    def arguments(self) -> tuple[Any, ...]:
        """Return nothing: the sizes say all."""
        return ()

    def output_shape(self) -> tuple[int, ...]:
        """Replace the last two sizes."""
        return *self.shape[:-2], *self.output_size

    def overloads(self) -> tuple[Any, Any, Any, str]:
        """Name the operators."""
        backward = aten._adaptive_avg_pool2d_backward
        return ours.adaptive_avg_pool2d_backward.out, backward.out, backward.default, "out"


@dataclass(frozen=True, kw_only=True)
class ReplicationPad2d(PlaneCase):
    """The gradient of pad(mode="replicate")."""

    operator = "replication_pad2d"
    padding: tuple[int, int, int, int]

    def details(self) -> tuple[str, ...]:
        """Return the padding, in one number if all sides have the same."""
        sides = self.padding[:1] if len(set(self.padding)) == 1 else self.padding
        return ("p" + ",".join(map(str, sides)),)

    def arguments(self) -> tuple[Any, ...]:
        """Return the padding."""
        return (self.padding,)

    def output_shape(self) -> tuple[int, ...]:
        """Add the padding."""
        left, right, top, bottom = self.padding
        return *self.shape[:-2], self.shape[-2] + top + bottom, self.shape[-1] + left + right

    def overloads(self) -> tuple[Any, Any, Any, str]:
        """Name the operators."""
        backward = aten.replication_pad2d_backward
        return ours.replication_pad2d_backward.out, backward.grad_input, backward.default, "grad_input"
