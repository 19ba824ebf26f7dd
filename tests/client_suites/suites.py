"""The test suites of clients: which of their files are run, and with which settings."""

from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True)
class Suite:
    """A client's suite: folders of files below ``test`` of a checkout, without some, and environment variables that name files there."""

    folders: tuple[str, ...]
    without: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def files(self, directory: Path) -> list[str]:
        """Return the files to run, by their paths below ``directory``."""
        found = (path for folder in self.folders for path in sorted((directory / folder).glob("**/test_*.py")))
        names = (str(path.relative_to(directory)) for path in found)
        return [name for name in names if not name.startswith(self.without)]

    def settings(self, directory: Path) -> dict[str, str]:
        """Return the environment variables."""
        return {name: str(directory / file) for name, file in self.environment.items()}


MAJOR, MINOR = version("torch").split(".")[:2]
SUITES = {
    "op_plugin": Suite(("core_tests", "test_base_ops", "test_custom_ops", f"test_v{MAJOR}r{MINOR}_ops")),
    # Those that torch_npu's own CI leaves out for their size, those that others of its files import, and those that need Triton.
    "torch_npu": Suite(
        (".",),
        (
            *("test_ops", "test_modules.py", "test_binary_ufuncs.py", "test_reductions.py", "test_unary_ufuncs.py", "test_jit_fuser_te.py"),
            *("jit/", "onnx/", "_inductor/"),
        ),
        {"DISABLED_TESTS_FILE": "unsupported_test_cases/.pytorch-disabled-tests.json"},
    ),
}
