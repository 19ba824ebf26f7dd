"""The gradient of padding by replication, by reflection and in a circle."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch_aclnn._operators import Operator
from torch_aclnn.check.samples import Sample

from benchmarks.aten import Peer
from benchmarks.case import Case
from benchmarks.draw import Draw
from benchmarks.families.planes import PlaneCase


@dataclass(frozen=True, kw_only=True)
class Pad(PlaneCase):
    """The gradient of pad(mode="replicate"), "reflect" or "circular"."""

    padding: tuple[int, ...]

    def details(self) -> tuple[str, ...]:
        """Return the padding, as one number if it is the same on all sides."""
        sides = self.padding[:1] if len(set(self.padding)) == 1 else self.padding
        return ("p" + ",".join(map(str, sides)),)

    def arguments(self) -> tuple[Any, ...]:
        """Return the padding."""
        return (self.padding,)

    def output_shape(self) -> tuple[int, ...]:
        """Add the padding."""
        dims = self.operator.dims
        added = [before + after for before, after in zip(self.padding[::2], self.padding[1::2], strict=True)]
        return *self.shape[:-dims], *(size + more for size, more in zip(self.shape[-dims:], reversed(added), strict=True))

    def aten_into(self, out: Tensor, grad_output: Tensor, input: Tensor) -> Callable[[], Any]:
        """Return a call of ATen's operator, or of those that autograd takes for it."""
        if self.operator.aten_backward is not None:
            return super().aten_into(out, grad_output, input)
        return partial(folded, grad_output, self.padding, out)

    def formula(self, grad_output: Tensor, input: Tensor) -> Tensor:
        """Compute the gradient."""
        if self.operator.aten_backward is not None:
            return super().formula(grad_output, input)
        return folded(grad_output, self.padding)


def folded(grad_output: Tensor, padding: tuple[int, ...], out: Tensor | None = None) -> Tensor:
    """Return the gradient of circular padding, for which ATen has no operator: each axis adds the padding's gradient to its origin."""
    result = grad_output
    for side in range(0, len(padding), 2):
        dim, before, after = result.dim() - 1 - side // 2, padding[side], padding[side + 1]
        size = result.shape[dim] - before - after
        inside = result.narrow(dim, before, size)
        is_last = side == len(padding) - 2
        folded = out.copy_(inside) if is_last and out is not None else inside.clone()
        if before:
            folded.narrow(dim, size - before, before).add_(result.narrow(dim, 0, before))
        if after:
            folded.narrow(dim, 0, after).add_(result.narrow(dim, before + size, after))
        result = folded
    return result


def peer(operator: Operator, sample: Sample) -> Peer:
    """Return the sums of slices that compute the gradient of circular padding."""
    call = partial(folded, sample.tensors[0], sample.arguments[1])
    return Peer("slices", call, lambda out: partial(call, out))


# Shapes and the padding of each side, for replication and for the other modes. Networks that translate images pad each layer so (the
# last large shape is that of the first layer).
LARGE: dict[tuple[int, bool], tuple[Any, ...]] = {
    (1, True): (((16, 64, 4096), 1), ((8, 256, 16384), 3)),
    (1, False): (((16, 64, 4096), 1), ((8, 256, 16384), 3)),
    (2, True): (((16, 64, 128, 128), 1), ((8, 64, 256, 256), 3)),
    (2, False): (((16, 64, 128, 128), 1), ((4, 256, 64, 64), 1), ((8, 64, 256, 256), 3)),
    (3, True): (((2, 64, 16, 56, 56), 1), ((2, 32, 32, 64, 64), 3)),
    (3, False): (((2, 64, 16, 56, 56), 1), ((2, 32, 32, 64, 64), 3)),
}
SMALL: dict[int, tuple[Any, ...]] = {
    1: (((1, 3, 100), 1), ((1, 64, 49), 1)),
    2: (((1, 3, 32, 32), 1), ((1, 64, 7, 7), 1)),
    3: (((1, 3, 8, 16, 16), 1), ((1, 64, 4, 7, 7), 1)),
}
ONE_BATCH = {1: (64, 4096), 2: (64, 128, 128), 3: (32, 16, 32, 32)}


def cases(operator: Operator) -> list[Case]:
    """Return the fixed ones."""
    dims, replicates = operator.dims, operator.mode == "replicate"

    def case(shape: tuple[int, ...], *padding: int, **options: Any) -> Pad:
        return Pad(operator=operator, shape=shape, padding=padding * (2 * dims // len(padding)), **options)

    large = [case(*layer, quick=i == 0) for i, layer in enumerate(LARGE[dims, replicates])]
    narrow = (8, 64, *[4 if replicates else 7] * dims) if dims < 3 else (2, 16, *[4 if replicates else 7] * dims)
    uneven = (8, 64, *(7, 17, 13)[-dims:])
    return [
        *large,
        *(replace(case, dtype=torch.bfloat16) for case in large),
        replace(large[0], dtype=torch.float16, quick=False),
        *([replace(large[0], channels_last=True, quick=False)] if dims > 1 else []),
        *(case(*layer, quick=i == 1) for i, layer in enumerate(SMALL[dims])),
        case(uneven, *(3, 0, 1, 2, 0, 1)[: 2 * dims]),
        case(narrow, 6),
        case(ONE_BATCH[dims], 2),
    ]


def random_case(operator: Operator, draw: Draw) -> Case:
    """Draw a padding of up to 4, mostly the same on each side."""
    smallest, largest = {1: (5, 65536), 2: (5, 256), 3: (5, 64)}[operator.dims]
    layout = draw.layout(plane_dims=operator.dims, smallest_plane=smallest, largest_plane=largest)
    sides = tuple(draw.size(1, 4) for _ in range(2 * operator.dims))
    return Pad(operator=operator, **layout, padding=(sides[0],) * len(sides) if draw.chance(0.7) else sides)
