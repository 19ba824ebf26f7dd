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


# Copies of torch's own large files, with up to thousands of tests of all devices.
COPIES = """
dynamo/test_export dynamo/test_functions dynamo/test_higher_order_ops dynamo/test_misc dynamo/test_modules dynamo/test_repros
functorch/test_eager_transforms fx/test_z3_gradual_types nn/test_convolution optim/test_lrscheduler optim/test_optim
profiler/test_memory_profiler test_autograd test_binary_ufuncs test_dataloader test_fake_tensor test_functionalization test_fx test_indexing
test_jit test_jit_fuser_te test_modules test_namedtensor test_nn test_optim test_reductions test_sparse test_tensor_creation_ops
test_testing test_torch test_transformers test_unary_ufuncs test_utils test_view_ops
"""
MAJOR, MINOR = version("torch").split(".")[:2]
SUITES = {
    "op_plugin": Suite(("core_tests", "test_base_ops", "test_custom_ops", f"test_v{MAJOR}r{MINOR}_ops")),
    "torch_npu": Suite(
        (".",),
        # Left out are the copies and what needs Triton.
        (*(f"{name}.py" for name in COPIES.split()), "test_ops", "jit/", "onnx/", "_inductor/"),
        {"DISABLED_TESTS_FILE": "unsupported_test_cases/.pytorch-disabled-tests.json"},
    ),
}
