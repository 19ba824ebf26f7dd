"""The gradient of max unpooling, which gathers elements by index."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_aclnn._operators import Operator
from torch_aclnn.check.samples import Sample

from benchmarks.aten import Peer, packet_peer
from benchmarks.case import Case, Work, times
from benchmarks.draw import Draw

LINE_BYTES = 64


@dataclass(frozen=True, kw_only=True)
class MaxUnpool(Case):
    """The gradient of an unpooling. `shape` is grad_output's; the indices come from a max pooling of a tensor of that shape.

    ATen's peer flattens the planes and gathers, as autograd does.
    """

    kernel: tuple[int, ...]

    def details(self) -> tuple[str, ...]:
        """Return the pooling's window."""
        return (f"k{times(self.kernel)}",)

    def work(self) -> Work:
        """Pool, and gather by the indices. The entry points do not list bfloat16, so its bits are passed as int16, to the peers too."""
        dims, values = self.operator.dims, self.randn(self.shape)
        _, indices = getattr(F, f"max_pool{dims}d")(values.float(), self.kernel, return_indices=True)
        grad_output = values.view(torch.int16) if self.dtype == torch.bfloat16 else values
        out = grad_output.new_empty(indices.shape)
        steps = (self.kernel, (0,) * dims) if dims == 3 else ()
        ours = getattr(torch.ops.torch_aclnn, self.operator.backward).out
        flat_indices, flat_out = indices.flatten(-dims), out.flatten(-dims)
        return Work(
            inputs=(grad_output, indices),
            out=out,
            bytes=indices.nbytes + bytes_of_lines(grad_output, indices, dims) + out.nbytes,
            ours=partial(ours, grad_output, indices, self.shape[-dims:], *steps, out=out),
            aten=lambda: torch.ops.aten.gather.out(grad_output.flatten(-dims), -1, flat_indices, out=flat_out),
            formula=partial(gather, dims=dims),
        )


def peer(operator: Operator, sample: Sample) -> Peer:
    """Return ATen's operator for the same gradient."""
    grad_output, indices = (tensor.flatten(-operator.dims) for tensor in sample.tensors)
    return packet_peer("gather", torch.ops.aten.gather, grad_output, -1, indices)


def gather(grad_output: Tensor, indices: Tensor, dims: int) -> Tensor:
    """Take each element from where its index says, within its plane."""
    return grad_output.flatten(-dims).gather(-1, indices.flatten(-dims)).view(indices.shape)


def bytes_of_lines(grad_output: Tensor, indices: Tensor, dims: int) -> int:
    """Return the size of the cache lines that hold the elements that are gathered, because memory moves by lines."""
    places = torch.arange(grad_output.numel()).as_strided(grad_output.shape, grad_output.stride())
    lines = gather(places, indices, dims) * grad_output.element_size() // LINE_BYTES
    return LINE_BYTES * lines.unique().numel()


# By the number of dimensions: large shapes, a small one, an uneven one with its window, and one without a batch.
SHAPES: dict[int, tuple[Any, ...]] = {
    2: (((16, 64, 128, 128), (32, 128, 56, 56)), (1, 2, 8, 8), ((2, 16, 17, 13), (3, 2)), (64, 128, 128)),
    3: (((2, 32, 32, 64, 64), (4, 64, 16, 56, 56)), (1, 2, 4, 8, 8), ((2, 16, 6, 17, 13), (2, 3, 2)), (32, 16, 32, 32)),
}


def cases(operator: Operator) -> list[Case]:
    """Return the fixed ones."""
    case = partial(MaxUnpool, operator=operator)
    shapes, small, (uneven, window), one_batch = SHAPES[operator.dims]
    twos = (2,) * operator.dims
    large = [case(shape=shape, kernel=twos, quick=i == 0) for i, shape in enumerate(shapes)]
    return [
        *large,
        *(replace(case, dtype=torch.bfloat16, quick=False) for case in large),
        replace(large[0], dtype=torch.float16, quick=False),
        case(shape=small, kernel=twos, quick=True),
        case(shape=uneven, kernel=window),
        case(shape=one_batch, kernel=twos),
    ]


def random_case(operator: Operator, draw: Draw) -> Case:
    """Draw a pooling's window of 2 or 3; for volumes sometimes with a depth of 1, as networks unpool pictures."""
    smallest, largest = {2: (6, 256), 3: (6, 64)}[operator.dims]
    layout = draw.layout(plane_dims=operator.dims, smallest_plane=smallest, largest_plane=largest)
    depth = (draw.choice((1, 2, 3)),)[: operator.dims - 2]
    return MaxUnpool(operator=operator, **layout, kernel=(*depth, *draw.choice(((2, 2), (3, 3)))))
