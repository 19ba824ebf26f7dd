"""Entry of the ``torch-aclnn`` command.

The command must work, and explain, where torch does not import. So it takes ``torch_aclnn.host`` without running the package's own
``__init__``, which imports torch.
"""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def host_alone() -> Iterator[None]:
    """Let ``torch_aclnn.host`` be imported without the package; afterwards the package can be imported in full."""
    if "torch_aclnn" in sys.modules:
        yield
        return
    spec = importlib.util.find_spec("torch_aclnn")
    if spec is None:
        raise ImportError("torch_aclnn is not installed")
    package = sys.modules["torch_aclnn"] = importlib.util.module_from_spec(spec)
    try:
        from torch_aclnn._source_tree import built_package

        package.__path__ = [str(built_package())]
        yield
    finally:
        if sys.modules.get("torch_aclnn") is package:
            del sys.modules["torch_aclnn"]


def main() -> int:
    """Run the command line and return its exit code."""
    with host_alone():
        from torch_aclnn.host.cli import main as run
    return run()
