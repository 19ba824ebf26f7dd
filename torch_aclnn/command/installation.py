"""Facts about the installed packages, found without importing them, so that no import can fail."""

import importlib.metadata
import importlib.util
import os
import platform
import re
import site
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch_aclnn import _built_for
from torch_aclnn._source_tree import is_built
from torch_aclnn.command.info.variables import PREFIX
from torch_aclnn.loading.hook_settings import SWITCH
from torch_aclnn.loading.versions import installed

OLDEST_PYTHON = (3, 10)

_HOOK_FILE = "torch_aclnn_import_hook.pth"


def version(package: str) -> str:
    """Return the version of the installed package, or ``"not installed"``."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def own_version() -> str:
    """Return the version of this package's files, which need not be installed by pip."""
    found = re.search(r'^ *__version__ = "(.+)"', (package_directory() / "__init__.py").read_text(), re.MULTILINE)
    return found[1] if found else "unknown"


def package_directory() -> Path:
    """Return this package's directory."""
    return Path(__file__).resolve().parent.parent


def facts(environment: Mapping[str, str] = os.environ, path: Sequence[str] | None = None) -> dict[str, Any]:
    """Return what is installed, with the keys that docs/command_line.md describes.

    Args:
        environment: the environment variables.
        path: the directories whose .pth files Python reads; None means those of this environment.

    """
    built = is_built(package_directory())
    return {
        "python": {"version": platform.python_version(), "supported": sys.version_info >= OLDEST_PYTHON, "executable": sys.executable},
        "torch": _torch(),
        "torch_npu": _version_file("torch_npu"),
        "torch_aclnn": {
            "version": own_version(),
            "directory": str(package_directory()),
            "built_for": {"torch": _built_for.TORCH, "torch_npu": _built_for.TORCH_NPU} if built else None,
        },
        "glibc": platform.libc_ver()[1] or None,
        "architecture": platform.machine(),
        "import_hook": {"installed": _hook(path), "enabled": environment.get(SWITCH) != "0"},
        "environment": {name: value for name, value in sorted(environment.items()) if name.startswith(PREFIX)},
    }


def _torch() -> dict[str, Any]:
    try:
        variables = installed("torch") or {}
    except Exception:  # _version_file reports what is wrong
        variables = {}
    return {**_version_file("torch"), "build": _build(variables) if variables else None}


def _version_file(package: str) -> dict[str, Any]:
    """Return the version that the package's version.py has, or why it cannot be read."""
    try:
        variables = installed(package)
        return {"version": None if variables is None else str(variables["__version__"]), "problem": None}
    except Exception as error:  # whatever a damaged file raises
        spec = importlib.util.find_spec(package)
        return {"version": None, "problem": f"{spec and spec.origin} is not a whole {package}: {type(error).__name__}: {error}"}


def _build(variables: Mapping[str, object]) -> str:
    for name, variable in (("CUDA", "cuda"), ("ROCm", "hip"), ("XPU", "xpu")):
        if variables.get(variable):
            return f"{name} {variables[variable]}"
    return "CPU"


def _hook(path: Sequence[str] | None) -> str | None:
    # Python reads such files in these directories only, not in all of sys.path.
    directories = [*site.getsitepackages(), site.getusersitepackages()] if path is None else path
    files = (Path(directory) / _HOOK_FILE for directory in directories)
    return next((str(file) for file in files if file.is_file()), None)
