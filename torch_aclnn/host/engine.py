"""Which libraries answer on the ``npu`` device: CANN's, or the host engine's."""

import _ctypes
import ctypes
import os
import warnings

from torch_aclnn.host.paths import libdir

# What libtorch_npu.so is linked against, in an order in which each finds what it needs.
RUNTIME_LIBRARIES = (
    "libascendcl.so",
    "libacl_op_compiler.so",
    "libge_runner.so",
    "libgraph.so",
    "libacl_tdt_channel.so",
    "libhccl.so",
)
OPERATOR_LIBRARY = "libopapi.so"
ATEN_ADAPTERS = "libaclnn_math.so"

# A symbol that only the host engine's libascendcl.so has.
_HOST_SYMBOL = "torchAclnnHostCalls"


def loaded_library(name: str) -> ctypes.CDLL | None:
    """Return the library if this process has loaded it already, under this name or SONAME."""
    try:
        return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def is_active() -> bool:
    """Return whether the host engine answers on the ``npu`` device of this process.

    Example:
        >>> import torch_aclnn
        >>> torch_aclnn.host.is_active()  # on a machine without CANN
        True

    """
    runtime = loaded_library("libascendcl.so")
    return runtime is not None and hasattr(runtime, _HOST_SYMBOL)


def activate() -> None:
    """Load the libraries that ``TORCH_ACLNN_ENGINE`` asks for: ``auto`` (CANN if it loads, else host), ``cann`` or ``host``.

    Called by ``import torch_aclnn``; a second call changes nothing.

    Raises:
        ValueError: ``TORCH_ACLNN_ENGINE`` has another value.
        ImportError: the engine asked for cannot be loaded, or the other one is loaded already.

    """
    choice = os.environ.get("TORCH_ACLNN_ENGINE", "auto")
    if choice not in ("auto", "cann", "host"):
        raise ValueError(f"TORCH_ACLNN_ENGINE: expected auto, cann or host, got {choice!r}")
    if loaded_library("libascendcl.so") is not None:
        _check_loaded_engine(choice)
    elif choice == "host":
        _load_host()
    else:
        _load_cann_or_host(required=choice == "cann")
    if is_active():
        _let_children_find_the_engine()


def _check_loaded_engine(choice: str) -> None:
    loaded = "host" if is_active() else "cann"
    if choice not in ("auto", loaded):
        raise ImportError(
            f"TORCH_ACLNN_ENGINE={choice}, but the libraries of {loaded} are loaded already; "
            "import torch_aclnn before torch, or start the program with `torch-aclnn run`"
        )
    if loaded == "host":
        _load_host()  # the runtime may have come without the operators, through another program's LD_LIBRARY_PATH


def _load_cann_or_host(*, required: bool) -> None:
    problem = _try_cann()
    if problem is None:
        return
    if required:
        raise ImportError(f"TORCH_ACLNN_ENGINE=cann, but CANN's libraries do not load: {problem}; source CANN's set_env.sh first")
    if "ASCEND_HOME_PATH" in os.environ:
        warnings.warn(
            f"ASCEND_HOME_PATH is set, but CANN's libraries do not load ({problem}): the host engine answers on the npu device",
            stacklevel=3,
        )
    _load_host()


def _try_cann() -> str | None:
    """Load CANN's libraries through the loader's search path; on a failure unload them again and return the loader's words."""
    handles = []
    for name in RUNTIME_LIBRARIES:
        try:
            handles.append(ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)._handle)
        except OSError as error:
            for handle in reversed(handles):
                _ctypes.dlclose(handle)
            return str(error)
    return None


def _load_host() -> None:
    for name in (*RUNTIME_LIBRARIES, OPERATOR_LIBRARY):
        path = libdir() / name
        try:
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise ImportError(f"the host engine's {name} does not load: {error}; reinstall torch_aclnn") from error


def load_aten_adapters() -> None:
    """Load the entry points that stand on ATen, which is possible only when torch is there. Does nothing under CANN."""
    if is_active():
        ctypes.CDLL(str(libdir() / ATEN_ADAPTERS), mode=ctypes.RTLD_GLOBAL)


def search_path() -> str:
    """Return the value of ``LD_LIBRARY_PATH`` with which a new process finds the engine by itself."""
    others = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if path and path != str(libdir())]
    return os.pathsep.join([str(libdir()), *others])


def _let_children_find_the_engine() -> None:
    # A worker that is spawned imports torch before anything of ours; only the loader's search path reaches it in time.
    os.environ["LD_LIBRARY_PATH"] = search_path()
