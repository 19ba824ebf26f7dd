"""The gradient of padding by the values at the edges."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks.case import Case
from benchmarks.draw import Draw
from benchmarks.planes import PlaneCase


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


def _cases() -> list[Case]:
    large = (
        ReplicationPad2d(shape=(16, 64, 128, 128), padding=(1, 1, 1, 1), quick=True),
        ReplicationPad2d(shape=(8, 64, 256, 256), padding=(3, 3, 3, 3)),
    )
    return [
        *large,
        *(replace(case, dtype=torch.bfloat16) for case in large),
        replace(large[0], dtype=torch.float16, quick=False),
        replace(large[0], channels_last=True, quick=False),
        ReplicationPad2d(shape=(1, 3, 32, 32), padding=(1, 1, 1, 1)),
        ReplicationPad2d(shape=(1, 64, 7, 7), padding=(1, 1, 1, 1), quick=True),
        ReplicationPad2d(shape=(8, 64, 17, 13), padding=(3, 0, 1, 2)),
        ReplicationPad2d(shape=(8, 64, 4, 4), padding=(6, 6, 6, 6)),
        ReplicationPad2d(shape=(64, 128, 128), padding=(2, 2, 2, 2)),
    ]


def random_case(draw: Draw, case: type[ReplicationPad2d] = ReplicationPad2d) -> Case:
    """Draw a padding of up to 4, mostly the same on each side."""
    layout = draw.layout(plane_dims=2, smallest_plane=5, largest_plane=256)
    left, right, top, bottom = (draw.size(1, 4) for _ in range(4))
    return case(**layout, padding=(left,) * 4 if draw.chance(0.7) else (left, right, top, bottom))


CASES = _cases()
