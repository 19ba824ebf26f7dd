"""The gradient of padding by reflection."""

from dataclasses import dataclass, replace

import torch

from benchmarks.case import Case
from benchmarks.draw import Draw
from benchmarks.operators import replication_pad2d
from benchmarks.operators.replication_pad2d import ReplicationPad2d


@dataclass(frozen=True, kw_only=True)
class ReflectionPad2d(ReplicationPad2d):
    """The gradient of pad(mode="reflect")."""

    operator = "reflection_pad2d"


def _cases() -> list[Case]:
    # The last is the first layer of networks that translate images; the one before is in each of their residual blocks.
    large = (
        ReflectionPad2d(shape=(16, 64, 128, 128), padding=(1, 1, 1, 1), quick=True),
        ReflectionPad2d(shape=(4, 256, 64, 64), padding=(1, 1, 1, 1)),
        ReflectionPad2d(shape=(8, 64, 256, 256), padding=(3, 3, 3, 3)),
    )
    return [
        *large,
        *(replace(case, dtype=torch.bfloat16) for case in large),
        replace(large[0], dtype=torch.float16, quick=False),
        replace(large[0], channels_last=True, quick=False),
        ReflectionPad2d(shape=(1, 3, 32, 32), padding=(1, 1, 1, 1)),
        ReflectionPad2d(shape=(1, 64, 7, 7), padding=(1, 1, 1, 1), quick=True),
        ReflectionPad2d(shape=(8, 64, 17, 13), padding=(3, 0, 1, 2)),
        ReflectionPad2d(shape=(8, 64, 7, 7), padding=(6, 6, 6, 6)),
        ReflectionPad2d(shape=(64, 128, 128), padding=(2, 2, 2, 2)),
    ]


def random_case(draw: Draw) -> Case:
    """Draw what replication_pad2d draws."""
    return replication_pad2d.random_case(draw, ReflectionPad2d)


CASES = _cases()
