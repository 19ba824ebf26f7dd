"""Padding. PyTorch has an entry for each mode of its one function, of which each operator takes the samples with planes of its own."""

import torch_aclnn
import torch
from torch import Tensor
from torch_aclnn._operators import Operator

from opinfo.entry import Entry
from opinfo.exclusion import GRADIENTS, NOT_EMPTY, Exclusion, no_double

FUNCTIONS = {"replicate": "replication_pad", "reflect": "reflection_pad", "circular": "circular_pad"}


def _pad(input: Tensor, padding: tuple[int, ...], mode: str) -> Tensor:
    return getattr(torch_aclnn.functional, f"{FUNCTIONS[mode]}{len(padding) // 2}d")(input, padding)


def entries(operator: Operator) -> tuple[Entry, ...]:
    lists_double = operator.mode != "circular"
    dims = {int(name[-2]) for name in operator.functions}
    takes = lambda sample: len(sample.args[0]) // 2 in dims
    part = f"{operator.dims}d"
    negative = ("replicate_negative",) if (operator.mode, operator.dims) == ("replicate", 2) else ()  # its samples are only images
    functions = (Entry("nn.functional.pad", _pad, variant, part, takes, lists_double) for variant in (str(operator.mode), *negative))
    modules = (Entry(f"nn.{name}", getattr(torch_aclnn.nn, name), lists_double=lists_double) for name in operator.modules)
    return *functions, *modules


# Circular paddings below the size that they extend; else ours is torch's own function, which is made of copies.
WITHIN = r"(\(1,\)|\(\(1, 2\),\))"
NOT_CROPPED = NOT_EMPTY + r"(?!.*args=\(\(-1)"
EXACT = r"\(\(3, 3, 3, 1\),\)"
THREE_TYPES = "Circular padding takes FLOAT16, FLOAT and BF16"
SEVERAL_ROUNDINGS = "The gradient of circular padding is rounded at each sum"
BACKWARDS = ("backward", "noncontiguous_backward")
HALVES, COMPLEX = (torch.float16, torch.bfloat16), (torch.complex64, torch.complex128)
ROUNDED = r"AssertionError|not close|differ"
EXCLUSIONS = (
    no_double(r"nn\.functional\.pad\.circular\..d", "ours", GRADIENTS, NOT_CROPPED),
    no_double(r"nn\.CircularPad.d", "ours", GRADIENTS, WITHIN),
    Exclusion(THREE_TYPES, r"nn\.functional\.pad\.circular\..d", "got COMPLEX", "ours", COMPLEX, BACKWARDS, NOT_CROPPED),
    Exclusion(
        SEVERAL_ROUNDINGS,
        r"nn\.functional\.pad\.circular\..d",
        ROUNDED,
        "torch",
        HALVES,
        BACKWARDS,
        r".*size=\((3, 3, 5, 5|1, 3, 3, 3, 3)\)",
    ),
    # One sample adds values that bfloat16 holds.
    Exclusion(SEVERAL_ROUNDINGS, r"nn\.CircularPad[23]d", ROUNDED, "torch", HALVES, BACKWARDS, f"(?!{EXACT})"),
    Exclusion(SEVERAL_ROUNDINGS, r"nn\.CircularPad[23]d", ROUNDED, "ours", HALVES, BACKWARDS, f"(?!{WITHIN}|{EXACT})"),
    Exclusion(SEVERAL_ROUNDINGS, r"nn\.CircularPad2d", ROUNDED, "ours|torch", (torch.float16,), BACKWARDS, EXACT),
)
