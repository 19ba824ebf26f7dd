"""Max unpooling."""

import torch_aclnn
from torch_aclnn._operators import Operator

from opinfo.entry import Entry
from opinfo.exclusion import Exclusion


def entries(operator: Operator) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            f"nn.functional.{name}",
            getattr(torch_aclnn.functional, name),
            variant,
            lists_double=True,
            differences_are_gradients=variant == "grad",
        )
        for name in operator.functions
        for variant in ("", "grad")
    )


LATE_ERROR = "max_unpool3d does not compare the shapes of input and indices"
EXCLUSIONS = (
    Exclusion(LATE_ERROR, r"nn\.functional\.max_unpool3d", "aclnnMaxUnpool3d: Expected shape of indices", "torch", checks=("errors",)),
)
