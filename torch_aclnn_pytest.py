"""Entry of the pytest plugin, which pytest imports in every run of this environment; ``-p no:torch_aclnn`` switches it off.

Most of these runs have nothing to do with torch_aclnn. So this imports neither torch nor the package's own ``__init__``, and nothing
that goes wrong here is raised.
"""

from torch_aclnn_command import bare_package

try:
    with bare_package():
        from torch_aclnn.loading.pytest_plugin import pytest_exception_interact, pytest_report_header, pytest_terminal_summary
except Exception as error:
    _problem = f"torch_aclnn: the plugin cannot be loaded: {error}"

    def pytest_report_header() -> str:  # noqa: D103
        return _problem


__all__ = ["pytest_exception_interact", "pytest_report_header", "pytest_terminal_summary"]
