"""The pytest plugin: name the engine in the header, and say at the end why torch_npu could not be imported."""

import os
from typing import Any

from torch_aclnn.loading import import_hook
from torch_aclnn.loading.engine import is_active, is_left_to_cann
from torch_aclnn.loading.loader import loaded_library


def pytest_report_header() -> str:
    """Return the line of pytest's header that names the engine which answers on the ``npu`` device, or would."""
    return f"torch_aclnn: {_engine()}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write at the end why torch_npu could not be imported."""
    for problem in dict.fromkeys(import_hook.problems):
        terminalreporter.write_line(f"torch_aclnn: {problem}")


def _engine() -> str:
    if loaded_library("libascendcl.so") is not None:
        return "host engine (CPU)" if is_active() else "CANN"
    try:
        left_to_cann = is_left_to_cann()
    except ValueError as error:
        return str(error)
    if left_to_cann:
        return "CANN, if torch_npu is imported"
    if os.environ.get(import_hook.SWITCH) == "0":
        return f"host engine (CPU), if torch_aclnn is imported before torch ({import_hook.SWITCH}=0)"
    return "host engine (CPU), if torch_npu is imported"
