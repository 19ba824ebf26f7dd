"""Padding. PyTorch has an entry for each mode of its one function, which is listed with the operator of images."""

import torch_aclnn
from torch import Tensor
from torch_aclnn._operators import Operator

from opinfo.entry import Entry
from opinfo.exclusion import no_double

VARIANTS = {"replicate": ("replicate", "replicate_negative"), "reflect": ("reflect",), "circular": ("circular",)}
FUNCTIONS = {"replicate": "replication_pad", "reflect": "reflection_pad", "circular": "circular_pad"}


def _pad(input: Tensor, padding: tuple[int, ...], mode: str) -> Tensor:
    return getattr(torch_aclnn.functional, f"{FUNCTIONS[mode]}{len(padding) // 2}d")(input, padding)


def entries(operator: Operator) -> tuple[Entry, ...]:
    lists_double = operator.mode != "circular"
    variants = VARIANTS[str(operator.mode)] if operator.dims == 2 else ()
    functions = tuple(Entry("nn.functional.pad", _pad, variant, lists_double=lists_double) for variant in variants)
    modules = (Entry(f"nn.{name}", getattr(torch_aclnn.nn, name), lists_double=lists_double) for name in operator.modules)
    return *functions, *modules


EXCLUSIONS = (no_double(r"nn\.functional\.pad\.circular|nn\.CircularPad.d"),)
