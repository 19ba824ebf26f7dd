"""Adaptive average pooling."""

from torch_aclnn._operators import Operator

from opinfo.entry import Entry, functions_and_modules
from opinfo.exclusion import GRADIENTS, OWN_WORDS, Exclusion, no_double


def entries(operator: Operator) -> tuple[Entry, ...]:
    return functions_and_modules(operator)


# torch takes a mean where there is one output cell.
ONE_CELL, ONE_CELL_OF_A_ROW, ONE_CELL_OF_A_VOLUME = r"\(1,\)", r".*args=\(1\)", r".*args=\(\(1,1,1\)\)"
EXCLUSIONS = (
    no_double(r"nn\.functional\.adaptive_avg_pool2d"),
    no_double(r"nn\.functional\.adaptive_avg_pool1d", samples=f"(?!{ONE_CELL_OF_A_ROW})"),
    no_double(r"nn\.functional\.adaptive_avg_pool1d", "ours", GRADIENTS, ONE_CELL_OF_A_ROW),
    no_double(r"nn\.AdaptiveAvgPool[12]d", samples=f"(?!{ONE_CELL})"),
    no_double(r"nn\.AdaptiveAvgPool[12]d", "ours", GRADIENTS, ONE_CELL),
    no_double(r"nn\.functional\.adaptive_avg_pool3d", samples=f"(?!{ONE_CELL_OF_A_VOLUME})"),
    no_double(r"nn\.functional\.adaptive_avg_pool3d", "ours", GRADIENTS, ONE_CELL_OF_A_VOLUME),
    no_double(r"nn\.AdaptiveAvgPool3d"),
    Exclusion(
        OWN_WORDS,
        r"nn\.functional\.adaptive_avg_pool2d",
        "got .*output size must be 2",
        "torch",
        checks=("errors",),
        samples=r".*'output_size': '\(\)'",
    ),
)
