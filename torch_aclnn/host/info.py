"""What ``torch-aclnn info`` shows."""

import ctypes
import importlib.metadata
import platform
import sys
from typing import Any

from torch_aclnn.host.engine import (
    ATEN_ADAPTERS,
    OPERATOR_LIBRARY,
    activate,
    is_active,
    loaded_library,
)
from torch_aclnn.host.versions import check_versions

ENTRY_POINTS = (
    "aclnnAvgPool2dBackward",
    "aclnnAdaptiveAvgPool2dBackward",
    "aclnnReplicationPad2dBackward",
    "aclnnMaxUnpool3dBackward",
    "aclnnBatchNormElemtBackward",
)

# Where torch_npu looks for an entry point, in its order.
_OPERATOR_LIBRARIES = (
    OPERATOR_LIBRARY,
    "libaclnn_ops_infer.so",
    "libaclnn_ops_train.so",
    ATEN_ADAPTERS,
    "libaclnn_sparse.so",
    "libaclnn_fft.so",
    "libaclnn_rand.so",
)


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("file_name", ctypes.c_char_p),
        ("file_base", ctypes.c_void_p),
        ("symbol_name", ctypes.c_char_p),
        ("symbol_address", ctypes.c_void_p),
    )


def library_of(function: Any) -> str:
    """Return the path of the library that defines the function."""
    found = _DlInfo()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_DlInfo)]
    dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(found))
    return (found.file_name or b"?").decode()


def resolve(entry_point: str) -> str | None:
    """Return the path of the library that has both phases of the entry point, or None."""
    for name in _OPERATOR_LIBRARIES:
        try:
            library = loaded_library(name) or ctypes.CDLL(name)
            getattr(library, entry_point + "GetWorkspaceSize")
            return library_of(getattr(library, entry_point))
        except (OSError, AttributeError):
            continue  # not this library: the next one may have it
    return None


def version(package: str) -> str:
    """Return the installed version of the package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _engine() -> str:
    return f"host engine {version('torch_aclnn')} (CPU; not an NPU)" if is_active() else "CANN"


def _soc() -> str:
    runtime = loaded_library("libascendcl.so")
    assert runtime is not None
    runtime.aclrtGetSocName.restype = ctypes.c_char_p
    return (runtime.aclrtGetSocName() or b"unknown").decode()


def _import_problem() -> str | None:
    """Import the whole package, as a program would, and return why that fails."""
    for name in [name for name in sys.modules if name == "torch_aclnn"]:
        del sys.modules[name]
    try:
        import torch_aclnn  # noqa: F401
    except (ImportError, ValueError, OSError, RuntimeError) as error:
        return str(error)
    return None


def _instruction_set() -> str:
    from torch_aclnn import _C

    return _C.isa()


def show() -> int:
    """Print versions, engine, SoC, the five entry points and a verdict; return 0 if the package is usable, else 1."""
    rows = [("Python", platform.python_version())]
    rows += [(package, version(package)) for package in ("torch", "torch_npu", "torch_aclnn")]
    problem = None
    missing: list[str] = []
    try:
        activate()
        rows += [("engine", _engine()), ("SoC", _soc())]
        for entry_point in ENTRY_POINTS:
            library = resolve(entry_point)
            rows.append((entry_point, library or "missing"))
            missing += [] if library else [entry_point]
        check_versions()
        problem = _import_problem()
        rows += [("kernels", _instruction_set())] if problem is None else []
    except (ImportError, ValueError) as error:
        problem = str(error)
    if missing and problem is None:
        problem = f"{', '.join(missing)} cannot be called"
    for name, value in rows:
        print(f"{name:32} {value}")
    print(f"{'verdict':32} {'ready' if problem is None else 'not usable: ' + problem}")
    return 0 if problem is None else 1
