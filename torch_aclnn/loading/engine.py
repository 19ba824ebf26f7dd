"""Which libraries answer on the ``npu`` device: CANN's, or the host engine's."""

import ctypes
import os
from collections.abc import Mapping

from torch_aclnn.loading import cann, custom_operators
from torch_aclnn.loading.cann import RUNTIME_LIBRARIES
from torch_aclnn.loading.loader import library_of, loaded_library
from torch_aclnn.loading.paths import libdir, python_packages

# The libraries that torch_npu searches for an entry point by bare name, in its order.
OPERATOR_LIBRARY = "libopapi.so"
ATEN_ADAPTERS = "libaclnn_math.so"
COLLECTIVES = "libtorch_aclnn_collectives.so"
OPERATOR_LIBRARIES = (
    OPERATOR_LIBRARY,
    "libaclnn_ops_infer.so",
    "libaclnn_ops_train.so",
    ATEN_ADAPTERS,
    "libaclnn_sparse.so",
    "libaclnn_fft.so",
    "libaclnn_rand.so",
)

# The library that the engine's libopapi.so is linked against, besides libascendcl.so.
_NEEDED = ("libtorch_aclnn_kernels.so",)

# Libraries that torch_npu opens by name when needed, for collectives, for its profiler and torch's, and for dumps.
_OPENED_BY_NAME = ("libhcomm.so", "libmspti.so", "libmsprofiler.so", "libascend_hal.so", "libascend_dump.so")

# Libraries that torchair is linked with, in addition to those above.
_OF_TORCHAIR = ("libfmk_parser.so", "libascend_protobuf.so")

# Further names of libraries in which programs look for operators; here libopapi.so has all operators.
_PARTS_OF_OPERATORS = ("libopapi_math.so", "libopapi_nn.so", "libopapi_cv.so", "libopapi_transformer.so", "libnnopbase.so")

# A symbol that only the host engine's libascendcl.so has.
_HOST_SYMBOL = "torchAclnnHostEntryPoints"


def is_active() -> bool:
    """Return whether the host engine answers on the ``npu`` device of this process.

    Example:
        >>> import torch_aclnn
        >>> torch_aclnn.host.is_active()  # on a machine without CANN
        True

    """
    runtime = loaded_library(RUNTIME_LIBRARIES[0])
    return runtime is not None and hasattr(runtime, _HOST_SYMBOL)


def answers_from_package() -> bool:
    """Return whether this package's own libraries answer, and not an engine that is installed elsewhere, laid out like CANN."""
    runtime = loaded_library(RUNTIME_LIBRARIES[0])
    if runtime is None or not hasattr(runtime, _HOST_SYMBOL):
        return False
    directory = library_of(getattr(runtime, _HOST_SYMBOL)).parent
    return directory.is_dir() and libdir().is_dir() and directory.samefile(libdir())


def chosen() -> str:
    """Return the value of ``TORCH_ACLNN_ENGINE``: ``auto``, which is the default, ``cann`` or ``host``.

    Raises:
        ValueError: it has another value.

    """
    choice = os.environ.get("TORCH_ACLNN_ENGINE") or "auto"
    if choice not in ("auto", "cann", "host"):
        raise ValueError(f"TORCH_ACLNN_ENGINE: expected auto, cann or host, got {choice!r}")
    return choice


def is_left_to_cann() -> bool:
    """Return whether CANN should be used. Nothing is loaded or tried to find out, so its libraries may still fail to load."""
    choice = chosen()
    if choice == "host" or loaded_library(RUNTIME_LIBRARIES[0]) is not None:
        return False
    return choice == "cann" or (not cann.engine_comes_first() and bool(cann.evidence()))


def activate() -> None:
    """Load the host engine, or leave the ``npu`` device to CANN, as ``TORCH_ACLNN_ENGINE`` says: ``auto``, ``cann`` or ``host``.

    ``auto`` is CANN if its libraries load, and the host engine on a machine where nothing suggests that an NPU is meant. CANN's
    libraries are then loaded by torch_npu. Called by ``import torch_aclnn``; a second call changes nothing.

    Raises:
        ValueError: ``TORCH_ACLNN_ENGINE`` has another value.
        ImportError: the engine asked for cannot be loaded, the other one is loaded already, or an NPU seems to be meant and CANN's
            libraries do not load.

    """
    choice = chosen()
    if loaded_library(RUNTIME_LIBRARIES[0]) is not None:
        _check_loaded_engine(choice)
    elif choice == "cann":
        _require_cann()
    elif choice == "host" or cann.engine_comes_first() or not _cann_answers():
        _load_host()
    if answers_from_package():
        # The programs that this one starts shall find the engine too.
        os.environ["LD_LIBRARY_PATH"] = search_path()
        cann.replace(os.environ)
        custom_operators.require_loadable()


def _check_loaded_engine(choice: str) -> None:
    loaded = "host" if answers_from_package() else "cann"
    if choice not in ("auto", loaded):
        raise ImportError(
            f"TORCH_ACLNN_ENGINE={choice}, but the libraries of {loaded} are loaded already; "
            "import torch_aclnn before torch, or start the program with `torch-aclnn run`"
        )
    if loaded == "host":
        _load_host()  # an LD_LIBRARY_PATH may have loaded the runtime without the operators


def _require_cann() -> None:
    problem = f"LD_LIBRARY_PATH has {libdir()} first" if cann.engine_comes_first() else cann.load_error()
    if problem is not None:
        raise ImportError(f"TORCH_ACLNN_ENGINE=cann, but CANN's libraries do not load: {problem}; source CANN's set_env.sh first")


def _cann_answers() -> bool:
    """Return whether CANN answers under ``auto``; raise ImportError if it seems to be meant and does not load."""
    found = cann.evidence()
    if not found:
        return False
    problem = cann.load_error()
    if problem is None:
        return True
    raise ImportError(
        f"an NPU seems to be meant here ({', '.join(found[:3])}), but CANN's libraries do not load: {problem}; "
        "source CANN's set_env.sh and, in a container, mount the driver; "
        "or set TORCH_ACLNN_ENGINE=host to run on the CPU, with the host engine"
    )


def _load_host() -> None:
    # All libraries that torch_npu opens by bare name are loaded, so that the loader takes them and none of a sourced CANN.
    operators = [name for name in OPERATOR_LIBRARIES if name != ATEN_ADAPTERS]
    for name in (*RUNTIME_LIBRARIES, *_NEEDED, *_OPENED_BY_NAME, *_OF_TORCHAIR, *operators, *_PARTS_OF_OPERATORS):
        path = libdir() / name
        try:
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise ImportError(f"the host engine's {name} does not load: {error}; reinstall torch_aclnn") from error


def load_what_needs_torch() -> None:
    """Load the libraries that are linked with torch, which has to be loaded: entry points on ATen, collectives on Gloo."""
    for name in (ATEN_ADAPTERS, COLLECTIVES):
        ctypes.CDLL(str(libdir() / name), mode=ctypes.RTLD_GLOBAL)


def search_path() -> str:
    """Return the value of ``LD_LIBRARY_PATH`` with which a new process finds the engine by itself."""
    return os.pathsep.join(map(str, [libdir(), *cann.search_directories()]))


def environment_with_engine(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment with which a new process finds the engine by itself, and nothing of an installed CANN."""
    modules = [str(python_packages()), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    changed = {**environment, "LD_LIBRARY_PATH": search_path(), "PYTHONPATH": os.pathsep.join(dict.fromkeys(modules))}
    cann.replace(changed)
    # torch uses one kind of accelerator in a process.
    changed.setdefault("CUDA_VISIBLE_DEVICES", "")
    return changed
