"""Fallback for a source tree that is found before the installed package, as in a clone's root, and is not built."""

import importlib.util
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

_THIS = Path(__file__).resolve().parent


def is_built(package: Path = _THIS) -> bool:
    """Return whether the directory has the engine's libraries, and the extension for this interpreter."""
    return (package / "toolkit" / "lib64" / "libascendcl.so").exists() and any(
        (package / f"_C{suffix}").exists() for suffix in EXTENSION_SUFFIXES
    )


def built_package() -> Path:
    """Return this package's directory if it is built, otherwise that of the installed package.

    Raises:
        ImportError: this one is not built, and no other is found.

    """
    if is_built():
        return _THIS
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != _THIS.parent]
    for finder in sys.meta_path:  # that of an editable installation, too
        spec = finder.find_spec("torch_aclnn", elsewhere)
        if spec is not None and spec.origin is not None and is_built(Path(spec.origin).parent):
            return Path(spec.origin).parent
    raise ImportError(
        f"torch_aclnn: the source tree {_THIS.parent} is not built, and no built package is installed for this Python; "
        f"run `pip install {_THIS.parent}`, or build in the tree as CONTRIBUTING.md says"
    )


def import_installed() -> ModuleType:
    """Import the installed package instead of this one, and return it."""
    directory = built_package()
    spec = importlib.util.spec_from_file_location("torch_aclnn", directory / "__init__.py", submodule_search_locations=[str(directory)])
    assert spec is not None and spec.loader is not None
    sys.modules.pop(__name__, None)  # the installed package has its own
    package = sys.modules["torch_aclnn"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return package
