"""A pytest plugin that loads the engine before any test imports torch; ``-p no:torch_aclnn`` switches it off."""

import torch_aclnn


def pytest_report_header() -> str:
    """Say in pytest's header which engine answers on the ``npu`` device."""
    return "torch_aclnn: " + ("host engine (CPU)" if torch_aclnn.host.is_active() else "CANN")
