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


WORDS = "Max unpooling refuses indices of another shape in the entry point's words"
CONTIGUOUS = "The gradient of max_unpool2d is refused for images that are not contiguous"
EXCLUSIONS = (
    Exclusion(WORDS, r"nn\.functional\.max_unpool[123]d", "indices: expected shape", "torch", checks=("errors",)),
    Exclusion(
        CONTIGUOUS,
        r"nn\.functional\.max_unpool2d(\.grad)?",
        "NPU contiguous operator only supported contiguous memory format",
        "torch",
        checks=GRADIENTS,
        samples=r".*contiguous=False",
    ),
)
