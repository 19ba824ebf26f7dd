"""The cases: which entries of PyTorch's own test tables are run, on which of our functions, in which data types and engine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch_aclnn  # noqa: F401  (it must be imported before torch)
import torch
from torch_aclnn._operators import OPERATORS
from torch_aclnn.loading.modes import is_on

from opinfo.entry import Entry
from opinfo.families import FAMILIES

ENGINE = "float64" if is_on("float64") else "default"
ENTRIES: tuple[Entry, ...] = tuple(entry for operator in OPERATORS for entry in FAMILIES[operator.family].entries(operator))


@dataclass(frozen=True)
class Case:
    """One pytest case: a check of every sample of an entry, in one data type, on our function or torch's own."""

    implementation: str  # "ours" or "torch"
    entry: Entry
    dtype: torch.dtype
    check: str

    def __str__(self) -> str:
        return f"{self.implementation}-{self.entry.title}-{str(self.dtype).removeprefix('torch.')}-{self.check}"

    @property
    def implemented_by(self) -> Callable[..., Any]:
        if self.implementation == "ours":
            return self.entry.ours
        return self.reference

    @property
    def reference(self) -> Callable[..., Any]:
        return self.entry.info.module_cls if self.entry.is_module else self.entry.info.op


def cases(modules: bool, engine: str = ENGINE) -> Iterator[Case]:
    """List the cases of all functions, or of all modules, that run in an engine with this setting."""
    for entry in ENTRIES:
        if entry.is_module != modules:
            continue
        for implementation in ("ours", "torch") if entry.ours else ("torch",):
            for dtype in entry.dtypes:
                for check in _checks(entry, dtype, engine):
                    yield Case(implementation, entry, dtype, check)


def _checks(entry: Entry, dtype: torch.dtype, engine: str) -> Iterator[str]:
    if engine == "default":
        yield from ("forward", "noncontiguous_forward")
        if dtype.is_floating_point or dtype.is_complex:
            yield from ("backward", "noncontiguous_backward")
        if dtype == torch.float32 and (entry.info.module_error_inputs_func if entry.is_module else entry.info.error_inputs_func):
            yield "errors"
    elif dtype == torch.float64 and not entry.lists_double:
        yield from ("forward", "noncontiguous_forward", "backward", "noncontiguous_backward")
    # What gradcheck itself calls takes float64 in one engine only.
    if entry.differences_are_gradients and dtype == {"default": torch.float32, "float64": torch.float64}[engine]:
        yield from ("gradcheck", "gradgradcheck")
