"""What ``torch-aclnn info`` prints."""

import ctypes
import importlib.metadata
import platform

from torch_aclnn._operators import OPERATORS
from torch_aclnn.host import libraries
from torch_aclnn.host.cann import RUNTIME_LIBRARIES
from torch_aclnn.host.engine import activate, answers_from_package, is_active
from torch_aclnn.host.loader import library_of, loaded_library
from torch_aclnn.host.versions import check_versions


def version(package: str) -> str:
    """Return the installed version of the package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _runtime() -> ctypes.CDLL:
    # torch_npu loads CANN's; where that failed, this shows which it would have been.
    return loaded_library(RUNTIME_LIBRARIES[0]) or ctypes.CDLL(RUNTIME_LIBRARIES[0])


def _engine() -> str:
    runtime = _runtime()
    if answers_from_package():
        return f"host engine {version('torch_aclnn')} (CPU; not an NPU)"
    place = library_of(runtime.aclInit).parent
    return f"host engine (CPU; not an NPU), in the place of CANN: {place}" if is_active() else f"CANN: {place}"


def _soc() -> str:
    runtime = _runtime()
    runtime.aclrtGetSocName.restype = ctypes.c_char_p
    return (runtime.aclrtGetSocName() or b"unknown").decode()


def _import_problem() -> str | None:
    """Import the whole package, as a program would, and return why that fails."""
    try:
        check_versions()
        import torch_aclnn  # noqa: F401
    except (ImportError, ValueError, OSError, RuntimeError) as error:
        return str(error)
    return None


def _instruction_set() -> str:
    from torch_aclnn import _C

    return _C.isa()


def _operators() -> tuple[list[tuple[str, str]], list[str]]:
    """Return the rows of the libraries and of the entry points, and the entry points that are missing."""
    searched = libraries.searched()
    rows = [(f"operator library {number}", f"{library.file}: {library.state()}") for number, library in enumerate(searched, 1)]
    entry_points = [operator.entry_point for operator in OPERATORS]
    found = {entry_point: libraries.resolve(entry_point, searched) for entry_point in entry_points}
    rows += [(entry_point, str(path or "missing")) for entry_point, path in found.items()]
    return rows, [entry_point for entry_point, path in found.items() if path is None]


def show() -> int:
    """Print versions, engine, SoC, the libraries of operators, the operators' entry points and a verdict.

    Returns:
        0 if the package is usable, else 1.

    """
    rows = [("Python", platform.python_version())]
    rows += [(package, version(package)) for package in ("torch", "torch_npu", "torch_aclnn")]
    problem = None
    try:
        activate()
        problem = _import_problem()
        operators, missing = _operators()
        rows += [("engine", _engine()), ("SoC", _soc()), *operators]
        if problem is None:
            rows.append(("kernels", _instruction_set()))
            problem = f"{', '.join(missing)} cannot be called" if missing else None
    except (ImportError, ValueError, OSError) as error:
        problem = problem or str(error)
    for name, value in rows:
        print(f"{name:32} {value}")
    print(f"{'verdict':32} {'ready' if problem is None else 'not usable: ' + problem}")
    return 0 if problem is None else 1
