"""Max unpooling."""

import torch_aclnn
from torch_aclnn._operators import Operator

from opinfo.entry import Entry
from opinfo.exclusion import GRADIENTS, Exclusion


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


LATE_ERROR = "Max unpooling does not compare the shapes of input and indices"
CONTIGUOUS = "The gradient of max_unpool2d is refused for images that are not contiguous"
EXCLUSIONS = (
    Exclusion(LATE_ERROR, r"nn\.functional\.max_unpool[12]d", "507015", "torch", checks=("errors",)),
    Exclusion(
        CONTIGUOUS,
        r"nn\.functional\.max_unpool2d(\.grad)?",
        "NPU contiguous operator only supported contiguous memory format",
        "torch",
        checks=GRADIENTS,
        samples=r".*contiguous=False",
    ),
    Exclusion(LATE_ERROR, r"nn\.functional\.max_unpool3d", "aclnnMaxUnpool3d: Expected shape of indices", "torch", checks=("errors",)),
)
