"""Entry of the ``torch-aclnn`` command, and of the engine's ``npu-smi``.

The command must work, and explain, where torch does not import. So it takes ``torch_aclnn.command`` without running the package's own
``__init__``, which imports torch.
"""

import importlib.util
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_OLDEST_PYTHON = (3, 10)


@contextmanager
def bare_package(*, built: bool = True) -> Iterator[None]:
    """Let ``torch_aclnn``'s modules be imported without its own ``__init__``; afterwards the package can be imported in full.

    Args:
        built: whether the package must be built; otherwise the modules of the package that is found first are taken.

    """
    if "torch_aclnn" in sys.modules:
        yield
        return
    spec = importlib.util.find_spec("torch_aclnn")
    if spec is None:
        raise ImportError("torch_aclnn is not installed")
    package = sys.modules["torch_aclnn"] = importlib.util.module_from_spec(spec)
    try:
        if built:
            from torch_aclnn._source_tree import built_package

            package.__path__ = [str(built_package())]
        else:
            _stand_in_for_built_for()
        yield
    finally:
        if sys.modules.get("torch_aclnn") is package:
            del sys.modules["torch_aclnn"]


def _stand_in_for_built_for() -> None:
    # The build writes this module. Without it no version fits.
    name = "torch_aclnn._built_for"
    if importlib.util.find_spec(name) is None:
        module = sys.modules[name] = ModuleType(name)
        module.__dict__.update(TORCH="", TORCH_NPU="")


def run_program(words: list[str]) -> None:
    """Run what ``python`` would run with these words, -c code, -m module or a file, whose folder replaces the first one of sys.path."""
    kind, rest = words[0], words[1:]
    if kind == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(sys.modules["__main__"]))
    elif kind == "-m":
        sys.argv, sys.path[0] = rest, os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = words, os.path.dirname(kind)
        runpy.run_path(kind, run_name="__main__")


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.version_info < _OLDEST_PYTHON:
        needed, found = (".".join(map(str, version[:2])) for version in (_OLDEST_PYTHON, sys.version_info))
        raise SystemExit(f"torch-aclnn: Python {needed} or later is needed, this is {found} ({sys.executable})")
    try:
        with bare_package():
            from torch_aclnn.command.cli import main as run
        return run()
    except ImportError as error:
        if "torch_aclnn.command.cli" in sys.modules:
            raise
        problem = str(error)
    with bare_package(built=False):
        from torch_aclnn.command.cli import main as run
    return run(not_built=problem)


def npu_smi() -> int:
    """Run the engine's ``npu-smi`` and return its exit code."""
    with bare_package():
        from torch_aclnn.command.npu_smi import main as run
    return run()
