"""Marks for tests that hold only under some circumstances."""

import ctypes
import os
from collections.abc import Iterable

import torch_aclnn
import pytest
import torch
from torch_aclnn._operators import OPERATORS
from torch_aclnn.loading.modes import is_on
from torch_aclnn.loading.paths import libdir

from support.entry_point import GENERATIONS

host_engine_only = pytest.mark.skipif(not torch_aclnn.host.is_active(), reason="a promise of the host engine, not of an NPU")

without_import_hook = pytest.mark.skipif(
    torch.version.cuda is not None, reason="torch_npu aborts beside torch's CUDA build if the import hook is off"
)

needs_stack_of_python = pytest.mark.skipif(
    not hasattr(ctypes.pythonapi, "_Py_DumpTraceback"), reason="this version of Python does not export the function that prints a stack"
)

# The release of CANN that the engine presents by itself: that of the torch_npu it was built for.
PRESENTED_CANN = (libdir().parent / "runtime" / "version.info").read_text().strip().removeprefix("Version=")
OTHER_CANNS = sorted({"8.3.RC1", "8.5.0", "9.0.0", "9.1.0", "9.2.0"} - {PRESENTED_CANN})

# The engine gives nothing that the documents do not promise, and takes nothing beyond them.
UNSPECIFIED = is_on("unspecified")
# Whether the engine takes nothing that the documents do not list.
STRICT = UNSPECIFIED or is_on("strict")

# In queue mode 2 torch_npu calls phase 1 of its own operators on the queue's thread. What is refused there is told late, without the
# engine's message, and the thread ends: what the process launches from then on is dropped, and nothing in torch_npu starts another.
refused_at_once = pytest.mark.skipif(
    os.environ.get("TASK_QUEUE_ENABLE") == "2", reason="in queue mode 2 a refusal of torch_npu's own operator ends the thread of its queue"
)

# The product that the engine presents, as entry_point.GENERATIONS names it.
_SOC = os.environ.get("TORCH_ACLNN_HOST_SOC") or "Ascend910B3"
PRODUCT = next((product for product, socs in GENERATIONS.items() if _SOC in socs), "A2")
# The cubeMathType of products of FLOAT, which the matrix units of 310P do not take, and 0 would keep.
CUBE_MATH_TYPE = int(PRODUCT == "inference")
# Operators whose entry points' pages do not list it: torch_aclnn's functions are torch's own there.
NOT_OFFERED = {operator.name for operator in OPERATORS if not any(PRODUCT in row.since for row in operator.listed)}


# What only that product has: skipped on others (tests/aten/conftest.py), and run by tests/aten/test_on_the_950.py.
of_the_950 = pytest.mark.of_the_950
of_a2_and_a3 = pytest.mark.skipif(PRODUCT not in ("A2", "A3"), reason="what the test expects is of A2 and A3")

# One is max_unpool3d with the int32 indices of max_pool3d. Under queue mode 2 the refusal of torch_npu's own call would come late, and
# torch_npu would drop all that follows.
beyond_the_documents = pytest.mark.skipif(STRICT, reason="torch_npu's own operators are called beyond the documents, which strict refuses")

with_routing_v3 = pytest.mark.skipif(
    PRODUCT == "inference", reason="op-plugin MoeInitRoutingV2KernelNpuOpApi.cpp: no range of experts, capacity or quantisation on 310P"
)


def marked(cases: Iterable[str | tuple[str, ...]], one: str | tuple[str, ...], mark: pytest.MarkDecorator) -> list[object]:
    """Return the cases as parameters of a test, with a mark for one of them."""
    rows = [(case, case if isinstance(case, tuple) else (case,)) for case in cases]
    return [pytest.param(*values, marks=mark if case == one else ()) for case, values in rows]


def is_torchs(operator: str, device: str) -> bool:
    """Return whether the function of an operator is torch's own there, because the product does not offer the entry point."""
    return device == "npu" and operator in NOT_OFFERED


def skip_if_torchs(operator: str, device: str) -> None:
    """Skip the rest of the test, which checks an operator's own gradient, if the gradient is torch's."""
    if is_torchs(operator, device):
        pytest.skip(reason_not_offered(operator))


def skipped_if_torchs(operator: str) -> pytest.MarkDecorator:
    """Return a mark for what `skip_if_torchs` would skip."""
    return pytest.mark.skipif(operator in NOT_OFFERED, reason=reason_not_offered(operator))


def reason_not_offered(operator: str) -> str:
    return f"{PRODUCT}: the pages of {operator}'s entry point do not list the product"


def skip_with(first: str, last: str, shortcoming: str) -> None:
    """Skip the rest of the test with the minor versions of torch and torch_npu, from the first to the last, that have a shortcoming."""
    if _installed(first, last):
        pytest.skip(_reason(first, last, shortcoming))


def skipped_with(first: str, last: str, shortcoming: str) -> pytest.MarkDecorator:
    """Return a mark for what `skip_with` would skip."""
    return pytest.mark.skipif(_installed(first, last), reason=_reason(first, last, shortcoming))


def _installed(first: str, last: str) -> bool:
    return _numbers(first) <= _numbers(torch.__version__) <= _numbers(last)


def _reason(first: str, last: str, shortcoming: str) -> str:
    versions = first if first == last else f"{first} to {last}"
    return f"torch_npu {versions}: {shortcoming}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split(".")[:2])
