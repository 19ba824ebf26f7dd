"""The pytest plugin: name the engine in the header, and say at the end why torch_npu could not be imported and what the engine refused."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from torch_aclnn.loading import import_hook, missing_entry_points
from torch_aclnn.loading.engine import is_active, is_left_to_cann
from torch_aclnn.loading.hook_settings import SWITCH
from torch_aclnn.loading.loader import loaded_library

# torch_npu's words about an entry point, and the engine's about an operator that is called by name.
_ENTRY_POINT = re.compile(r"\b(aclnn\w+) or \1GetWorkspaceSize not in libopapi\.so")
_OPERATOR = re.compile(r"\b(operator \w+) has no entry point in the torch_aclnn host engine")

# A refusal: the function, the parameter and what that was given.
_REFUSAL = re.compile(r"\b((?:acl|Hccl)\w+): (\w+): expected .*?, got ([^(:\n]{1,40})")


def pytest_report_header() -> str:
    """Return the line of pytest's header that names the engine which answers on the ``npu`` device, or would."""
    return f"torch_aclnn: {_engine()}"


def pytest_exception_interact(call: Any, report: Any) -> None:
    """Write below the traceback what to do where an entry point is missing."""
    explanation = missing_entry_points.explain(call.excinfo.value) if is_active() else None
    if explanation is not None and hasattr(report, "sections"):
        report.sections.append(("torch_aclnn", explanation))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write at the end why torch_npu could not be imported, which operators the engine does not have, and which calls it refused."""
    failures = [report.longreprtext for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, ())]
    for line in [*dict.fromkeys(import_hook.problems), *_missing(failures), *_refused(failures)]:
        terminalreporter.write_line(f"torch_aclnn: {line}")


def _missing(failures: Iterable[str]) -> Iterator[str]:
    """Yield lines about the operators that the texts of failures name, those of other processes of pytest-xdist too."""
    found = Counter(name for text in failures for name in {*_ENTRY_POINT.findall(text), *_OPERATOR.findall(text)})
    if not found:
        return
    yield f"the host engine does not have {', '.join(f'{name} ({tests} failed)' for name, tests in sorted(found.items()))}"
    if os.environ.get("ASCEND_LAUNCH_BLOCKING") != "1" and any(name.startswith("operator ") for name in found):
        yield "an operator by name fails at the next synchronisation, perhaps in another test; with ASCEND_LAUNCH_BLOCKING=1 at the call"
    yield "`torch-aclnn coverage -m pytest` lists all that the tests use and miss"


def _refused(failures: Iterable[str]) -> Iterator[str]:
    """Yield lines about the calls whose refusals the texts of failures have."""
    found = Counter(refusal for text in failures for refusal in {" ".join(groups).strip() for groups in _REFUSAL.findall(text)})
    for refusal, tests in sorted(found.items()):
        yield f"refused: {refusal} ({tests} failed)"
    if any(refusal.endswith(" DOUBLE") for refusal in found):
        yield "TORCH_ACLNN_HOST_MODE=float64 takes DOUBLE, for gradcheck, where NPUs refuse it"


def _engine() -> str:
    if loaded_library("libascendcl.so") is not None:
        return "host engine (CPU)" if is_active() else "CANN"
    try:
        left_to_cann = is_left_to_cann()
    except ValueError as error:
        return str(error)
    if left_to_cann:
        return "CANN, if torch_npu is imported"
    if os.environ.get(SWITCH) == "0":
        return f"host engine (CPU), if torch_aclnn is imported before torch ({SWITCH}=0)"
    return "host engine (CPU), if torch_npu is imported"
