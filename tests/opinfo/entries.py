"""Which entries of PyTorch's own test tables are run, on which of our functions, in which data types and engine."""

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch_aclnn
import torch
from torch import Tensor
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

HALF_TYPES = (torch.float16, torch.bfloat16)
ENGINE = "float64" if os.environ.get("TORCH_ACLNN_HOST_FLOAT64") == "1" else "default"


@dataclass(frozen=True)
class Entry:
    """One OpInfo or ModuleInfo, and what it is run on."""

    name: str
    ours: Callable[..., Any] | None  # takes what torch's function or module class takes; None where there is only torch's own
    variant: str = ""
    lists_double: bool = False  # CANN's operator takes DOUBLE, so the default engine does
    differences_are_gradients: bool = True  # PyTorch skips gradcheck for an entry whose samples feed one place from two
    is_linear: bool = True

    @property
    def title(self) -> str:
        return f"{self.name}.{self.variant}" if self.variant else self.name

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


def _replication_pad2d(input: Tensor, padding: tuple[int, ...], mode: str) -> Tensor:
    assert mode == "replicate"
    return torch_aclnn.functional.replication_pad2d(input, padding)


_ours = torch_aclnn.functional
ENTRIES = (
    Entry("nn.functional.avg_pool2d", _ours.avg_pool2d),
    Entry("nn.functional.adaptive_avg_pool2d", _ours.adaptive_avg_pool2d),
    Entry("nn.functional.pad", _replication_pad2d, "replicate", lists_double=True),
    Entry("nn.functional.pad", _replication_pad2d, "replicate_negative", lists_double=True),
    Entry("nn.functional.max_unpool3d", _ours.max_unpool3d, lists_double=True, differences_are_gradients=False),
    Entry("nn.functional.max_unpool3d", _ours.max_unpool3d, "grad", lists_double=True),
    Entry("nn.functional.batch_norm", _ours.batch_norm, is_linear=False),
    Entry("native_batch_norm", None, is_linear=False),
    Entry("nn.AvgPool2d", torch_aclnn.nn.AvgPool2d),
    Entry("nn.AdaptiveAvgPool2d", torch_aclnn.nn.AdaptiveAvgPool2d),
    Entry("nn.ReplicationPad2d", torch_aclnn.nn.ReplicationPad2d, lists_double=True),
    Entry("nn.BatchNorm1d", torch_aclnn.nn.BatchNorm1d, is_linear=False),
    Entry("nn.BatchNorm2d", torch_aclnn.nn.BatchNorm2d, is_linear=False),
    Entry("nn.BatchNorm3d", torch_aclnn.nn.BatchNorm3d, is_linear=False),
)


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
