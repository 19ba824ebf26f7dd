"""What the pytest plugin does: the engine is loaded when a test, or what it imports, imports torch_npu; before that nothing is."""

from typing import Any

from torch_aclnn.host import cann, import_hook
from torch_aclnn.host.engine import chosen, is_active
from torch_aclnn.host.loader import loaded_library

# Why the engine could not be loaded. It is reported and not raised, because the tests may not need the engine.
_problems: list[str] = []

import_hook.install(_problems.append)


def pytest_report_header() -> str:
    """Return the line of pytest's header that names the engine which answers on the ``npu`` device, or would."""
    return f"torch_aclnn: {_engine()}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write at the end why the engine could not be loaded."""
    for problem in dict.fromkeys(_problems):
        terminalreporter.write_line(f"torch_aclnn: {problem}")


def _engine() -> str:
    try:
        choice = chosen()
    except ValueError as error:
        return str(error)
    if loaded_library("libascendcl.so") is not None:
        return "host engine (CPU)" if is_active() else "CANN"
    if choice == "cann" or (choice == "auto" and not cann.engine_comes_first() and cann.evidence()):
        return "CANN, if torch_npu is imported"
    return "host engine (CPU), if torch_npu is imported"
