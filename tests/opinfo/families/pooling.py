"""Average pooling."""

import torch
from torch_aclnn._operators import Operator

from opinfo.entry import Entry, functions_and_modules
from opinfo.exclusion import OWN_WORDS, Exclusion, no_double


def entries(operator: Operator) -> tuple[Entry, ...]:
    return functions_and_modules(operator)


FLOATING = "gradOutput, self and the result have one floating data type"
EXCLUSIONS = (
    Exclusion(FLOATING, r"nn\.functional\.avg_pool[123]d", "got INT64", dtypes=(torch.int64,)),
    no_double(r"nn\.functional\.avg_pool[123]d|nn\.AvgPool[123]d"),
    Exclusion(
        OWN_WORDS, r"nn\.functional\.avg_pool[12]d", "got pad should (not be|be)", "torch", checks=("errors",), samples=".*'padding'"
    ),
)
