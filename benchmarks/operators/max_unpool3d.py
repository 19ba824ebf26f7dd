"""The gradient of max_unpool3d, which gathers elements by index."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverloadPacket
from torch.nn import functional as F
from torch_aclnn.check.samples import Sample

from benchmarks.case import Case, Work, times
from benchmarks.draw import Draw

LINE_BYTES = 64


@dataclass(frozen=True, kw_only=True)
class MaxUnpool3d(Case):
    """`shape` is grad_output's; the indices are those of a max_pool3d of such a tensor.

    ATen's peer is what autograd does in place of such an operator: flatten the planes, and gather.
    """

    operator = "max_unpool3d"
    plane_dims = 3
    kernel: tuple[int, int, int] = (2, 2, 2)

    def details(self) -> tuple[str, ...]:
        """Return the pooling's window."""
        return (f"k{times(self.kernel)}",)

    def work(self) -> Work:
        """Pool, and gather by the pooling's indices. The entry point does not list bfloat16, so its bits go as int16, for all alike."""
        values = self.randn(self.shape)
        _, indices = F.max_pool3d(values.float(), self.kernel, return_indices=True)
        grad_output = values.view(torch.int16) if self.dtype == torch.bfloat16 else values
        out = grad_output.new_empty(indices.shape)
        return Work(
            inputs=(grad_output, indices),
            out=out,
            bytes=indices.nbytes + bytes_of_lines(grad_output, indices) + out.nbytes,
            ours=partial(
                torch.ops.torch_aclnn.max_unpool3d_backward.out,
                grad_output,
                indices,
                self.shape[-3:],
                self.kernel,
                (0, 0, 0),
                out=out,
            ),
            aten=lambda: torch.ops.aten.gather.out(grad_output.flatten(-3), -1, indices.flatten(-3), out=out.flatten(-3)),
            formula=gather,
        )


def peer(sample: Sample) -> tuple[OpOverloadPacket, tuple[Any, ...]]:
    """Return ATen's operator for the same gradient, and its arguments."""
    grad_output, indices = sample.tensors
    return torch.ops.aten.gather, (grad_output.flatten(-3), -1, indices.flatten(-3))


def gather(grad_output: Tensor, indices: Tensor) -> Tensor:
    """Take each element from where its index says, within its plane."""
    return grad_output.flatten(-3).gather(-1, indices.flatten(-3)).view(indices.shape)


def bytes_of_lines(grad_output: Tensor, indices: Tensor) -> int:
    """Return the size of the cache lines that hold the elements that are gathered, because memory moves by lines."""
    places = torch.arange(grad_output.numel()).as_strided(grad_output.shape, grad_output.stride())
    lines = gather(places, indices) * grad_output.element_size() // LINE_BYTES
    return LINE_BYTES * lines.unique().numel()


def _cases() -> list[Case]:
    large = (MaxUnpool3d(shape=(2, 32, 32, 64, 64), quick=True), MaxUnpool3d(shape=(4, 64, 16, 56, 56)))
    return [
        *large,
        *(replace(case, dtype=torch.bfloat16, quick=False) for case in large),
        replace(large[0], dtype=torch.float16, quick=False),
        MaxUnpool3d(shape=(1, 2, 4, 8, 8), quick=True),
        MaxUnpool3d(shape=(2, 16, 6, 17, 13), kernel=(2, 3, 2)),
        MaxUnpool3d(shape=(32, 16, 32, 32)),
    ]


def random_case(draw: Draw) -> Case:
    """Draw a pooling's window of 2 or 3, with a depth of 1 where a network unpools pictures."""
    layout = draw.layout(plane_dims=3, smallest_plane=6, largest_plane=64)
    return MaxUnpool3d(**layout, kernel=(draw.choice((1, 2, 3)), *draw.choice(((2, 2), (3, 3)))))


CASES = _cases()
