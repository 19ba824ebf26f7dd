"""Whether CANN should be used on this machine, and whether its libraries load.

None of CANN's libraries is loaded into this process to find out, because it could not be unloaded; torch_npu loads them itself.
"""

import functools
import os
import subprocess
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from torch_aclnn.loading import custom_operators
from torch_aclnn.loading.links import is_of_engine
from torch_aclnn.loading.paths import libdir, toolkit

# The libraries that libtorch_npu.so is linked against, in an order in which each finds those it needs.
RUNTIME_LIBRARIES = ("libascendcl.so", "libacl_op_compiler.so", "libge_runner.so", "libgraph.so", "libacl_tdt_channel.so", "libhccl.so")

# The variables by which torch_npu finds libraries of operators that it searches before libopapi.so.
SEARCH_VARIABLES = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    custom_operators.VARIABLE,
    "ASCEND_OPP_DEBUG_PATH",
    "ASCEND_AICPU_PATH",
)

# The variables by which it finds the engine's toolkit, which has no such libraries. Without the first it prints a warning.
TOOLKIT_VARIABLES = {"ASCEND_HOME_PATH": str(toolkit()), "ASCEND_OPP_PATH": str(toolkit() / "opp")}

_HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_DEVICE_NODES = ("dev/davinci[0-9]*", "dev/davinci_manager", "dev/devmm_svm", "dev/hisi_hdc")
_INSTALLATIONS = ("driver", "ascend-toolkit", "cann*", "nnae", "nnrt", "latest")

# Opens the libraries as torch_npu does, so that a missing dependency is found too.
_PROBE = "import ctypes, sys\nfor name in sys.argv[1:]: ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)"
_PROBE_SECONDS = 60


def evidence(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the signs that CANN should be used, not the host engine: devices, a driver, a toolkit, a sourced environment.

    Args:
        root: the root of the file system.
        environment: the environment variables; the path in ``HOME`` is used as it is, not below ``root``.

    """
    homes = {name: environment[name] for name in _HOME_VARIABLES if environment.get(name)}
    found = [f"{name}={home}" for name, home in homes.items() if not _is_same(Path(home), toolkit())]
    found += [str(path) for pattern in _DEVICE_NODES for path in sorted(root.glob(pattern))]
    places = [root / "usr" / "local" / "Ascend"]
    if environment.get("HOME"):
        places.append(Path(environment["HOME"]) / "Ascend")
    installed = [path for place in places for pattern in _INSTALLATIONS for path in sorted(place.glob(pattern))]
    found += [str(path) for path in installed if not is_of_engine(path)]
    return found + _found_by_loader(root, environment)


def _is_same(path: Path, directory: Path) -> bool:
    # Both are resolved, because one may be a link.
    return path.resolve() == directory.resolve()


def _found_by_loader(root: Path, environment: Mapping[str, str]) -> list[str]:
    found = [str(path / RUNTIME_LIBRARIES[0]) for path in search_directories(environment) if (path / RUNTIME_LIBRARIES[0]).exists()]
    cache = root / "etc" / "ld.so.cache"
    if cache.is_file() and f"/{RUNTIME_LIBRARIES[0]}\0".encode() in cache.read_bytes():
        found.append(f"{RUNTIME_LIBRARIES[0]} in {cache}")
    return found


def search_directories(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the directories of ``LD_LIBRARY_PATH`` without the engine's own."""
    directories = [Path(path) for path in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep) if path]
    return [path for path in directories if not _is_same(path, libdir())]


def engine_comes_first(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the loader's path has the engine before any CANN, as ``torch-aclnn run`` and ``env`` set it."""
    for path in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if path and (Path(path) / RUNTIME_LIBRARIES[0]).exists():
            return _is_same(Path(path), libdir())
    return False


@functools.cache
def load_error() -> str | None:
    """Load CANN's libraries in a separate process; return why they do not load, or None if they do."""
    command = [sys.executable, "-I", "-S", "-c", _PROBE, *RUNTIME_LIBRARIES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()
    return said[-1].removeprefix("OSError: ") if said else f"the attempt ended with code {done.returncode}"


def replace(environment: MutableMapping[str, str]) -> None:
    """Use the engine's toolkit instead of CANN's, to whose operators torch_npu would otherwise pass the engine's handles.

    Libraries of custom operators that are made for the engine stay.
    """
    kept = custom_operators.directories(environment, of_engine=True)
    for name in SEARCH_VARIABLES:
        environment.pop(name, None)
    environment.update(TOOLKIT_VARIABLES)
    if kept:
        environment[custom_operators.VARIABLE] = os.pathsep.join(kept)
