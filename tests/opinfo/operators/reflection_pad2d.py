"""Reflection padding."""

import torch_aclnn
from torch import Tensor

from opinfo.entry import Entry
from opinfo.exclusion import Exclusion


def _reflection_pad2d(input: Tensor, padding: tuple[int, ...], mode: str) -> Tensor:
    assert mode == "reflect"
    return torch_aclnn.functional.reflection_pad2d(input, padding)


ENTRIES = (
    Entry("nn.functional.pad", _reflection_pad2d, "reflect", lists_double=True),
    Entry("nn.ReflectionPad2d", torch_aclnn.nn.ReflectionPad2d, lists_double=True),
)
FOUR_PADS = "padding is {left, right, top, bottom}, each less than the size that it extends"
EXCLUSIONS = (
    Exclusion(
        FOUR_PADS,
        r"nn\.functional\.pad\.reflect",
        "reflection_pad2d: (input: expected 3 or 4 dimensions|padding: expected one integer or 4)",
        "ours",
        samples=r".*args=\(\((-?\d+,-?\d+|(-?\d+,){5}-?\d+)\),",
    ),
)
