"""An entry of PyTorch's own test tables, and what it is run on."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch_aclnn
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch_aclnn._operators import Operator

HALF_TYPES = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Entry:
    """One OpInfo or ModuleInfo, and what it is run on."""

    name: str
    ours: Callable[..., Any] | None  # takes the arguments of torch's function or class; None if there is only torch's own
    variant: str = ""
    part: str = ""  # the name of the operator's samples, if several operators share an entry of PyTorch's
    takes: Callable[[Any], bool] = lambda sample: True  # whether a sample of PyTorch's belongs to the operator
    lists_double: bool = False  # CANN's operator takes DOUBLE, so the default engine does
    differences_are_gradients: bool = True  # PyTorch skips gradcheck for an entry whose samples feed one place from two
    is_linear: bool = True

    @property
    def title(self) -> str:
        return ".".join(filter(None, (self.name, self.variant, self.part)))

    @functools.cached_property
    def info(self) -> Any:
        (found,) = (i for i in (*op_db, *module_db) if i.name == self.name and getattr(i, "variant_test_name", "") == self.variant)
        return found

    @property
    def is_module(self) -> bool:
        return hasattr(self.info, "module_cls")

    @property
    def dtypes(self) -> list[torch.dtype]:
        """PyTorch's list, with the half types that it leaves out for modules."""
        return sorted({*self.info.dtypes, *HALF_TYPES}, key=str)


def functions_and_modules(operator: Operator) -> tuple[Entry, ...]:
    """Return the entries of an operator's functions and modules, which have the names of torch's."""
    functions = (Entry(f"nn.functional.{name}", getattr(torch_aclnn.functional, name)) for name in operator.functions)
    return *functions, *(Entry(f"nn.{name}", getattr(torch_aclnn.nn, name)) for name in operator.modules)
