"""A sample that cannot pass, with the line of the contract, or the named limitation of torch_npu, that is the reason."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from opinfo.entries import Case
    from opinfo.samples import Sample

NO_DOUBLE = "DOUBLE, which no floating operator lists"
OWN_WORDS = "Bad arguments of poolings are refused in torch_npu's own words"

NOT_EMPTY = r"(?!.*input=Tensor\[size=\(0,)"
GRADIENTS = ("backward", "noncontiguous_backward", "gradcheck", "gradgradcheck")


@dataclass(frozen=True)
class Exclusion:
    """Samples of these entries (by a pattern of their titles) that fail with these words."""

    cause: str
    entries: str
    fails_with: str
    implementation: str = "ours|torch"
    dtypes: tuple[torch.dtype, ...] | None = None  # None means all dtypes
    checks: tuple[str, ...] | None = None
    samples: str = ""
    engine: str = "default|float64"

    def covers(self, case: "Case", sample: "Sample", engine: str) -> bool:
        return (
            re.fullmatch(self.implementation, case.implementation) is not None
            and re.fullmatch(self.entries, case.entry.title) is not None
            and (self.dtypes is None or case.dtype in self.dtypes)
            and (self.checks is None or case.check in self.checks)
            and re.match(self.samples, sample.summary) is not None
            and re.fullmatch(self.engine, engine) is not None
        )


def no_double(entries: str, implementation: str = "ours|torch", checks: tuple[str, ...] | None = None, samples: str = "") -> Exclusion:
    return Exclusion(NO_DOUBLE, entries, "got DOUBLE", implementation, (torch.float64,), checks, samples, "default")
