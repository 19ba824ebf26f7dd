"""Entry of the ``torch-aclnn`` command.

The command must work, and explain, where torch does not import. So it takes ``torch_aclnn.host`` without running the package's own
``__init__``, which imports torch.
"""

import importlib.util
import sys


def main() -> int:
    """Run the command line and return its exit code."""
    spec = importlib.util.find_spec("torch_aclnn")
    assert spec is not None
    sys.modules["torch_aclnn"] = importlib.util.module_from_spec(spec)
    from torch_aclnn.host.cli import main as run

    return run()
