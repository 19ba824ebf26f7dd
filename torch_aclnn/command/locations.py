"""Where the engine's files are, as compilers, shells and programs want to be told."""

import os
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path

from torch_aclnn.loading.cann import SEARCH_VARIABLES
from torch_aclnn.loading.engine import environment_with_engine
from torch_aclnn.loading.paths import includedir, libdir

OPTIONS = {
    "cflags": "options for the compiler",
    "libs": "options for the linker; programs then find the libraries by themselves",
    "includedir": "the folder of the C headers",
    "libdir": "the folder of the libraries",
    "bindir": "the folder of the engine's npu-smi",
    "cmake": "the folder of the CMake package, for -Dtorch_aclnn_DIR",
}

_LIBRARIES = ("-lascendcl", "-lnnopbase", "-lopapi")


def bindir() -> Path:
    """Return the directory of the engine's ``npu-smi``, which is on ``PATH`` only where the engine should be used."""
    return Path(__file__).resolve().parent.parent / "bin"


def config(options: Collection[str]) -> list[str]:
    """Return what ``torch-aclnn config`` prints for some of :data:`OPTIONS`: a line for each folder, and one with the flags."""
    folders = {"includedir": includedir(), "libdir": libdir(), "bindir": bindir(), "cmake": libdir() / "cmake" / "torch_aclnn"}
    lines = [str(folder) for option, folder in folders.items() if option in options]
    flags = [f"-I{includedir()}"] if "cflags" in options else []
    if "libs" in options:
        flags += [f"-L{libdir()}", f"-Wl,-rpath,{libdir()}", *_LIBRARIES]
    return [*lines, shlex.join(flags)] if flags else lines


def path_with_programs(environment: Mapping[str, str] = os.environ) -> str:
    """Return the value of ``PATH`` with which the engine's ``npu-smi`` is found first."""
    directories = environment.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([str(bindir()), *(directory for directory in directories if directory != str(bindir()))])


def environment_of_programs(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment in which a program finds the engine and its ``npu-smi``, and nothing of an installed CANN."""
    return {**environment_with_engine(environment), "PATH": path_with_programs(environment)}


def shell_commands() -> list[str]:
    """Return the commands that give a shell that environment."""
    changed = environment_of_programs()
    exports = [f"export {name}={shlex.quote(changed[name])}" for name in ("LD_LIBRARY_PATH", "PATH", "PYTHONPATH")]
    # Without these torch_npu would find operators of an installed CANN.
    return exports + [f"export {name}={shlex.quote(changed[name])}" if name in changed else f"unset {name}" for name in SEARCH_VARIABLES]
