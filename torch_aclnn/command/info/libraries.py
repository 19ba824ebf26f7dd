"""The libraries in which torch_npu looks for an entry point, in its order."""

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch_aclnn.loading.custom_operators import LIBRARY, VARIABLE
from torch_aclnn.loading.engine import OPERATOR_LIBRARIES
from torch_aclnn.loading.loader import library_of, loaded_library

_PRIORITY = "load_priority="


@dataclass(frozen=True)
class Library:
    """A library of operators.

    Attributes:
        file: what torch_npu passes to the loader: a path, or a name that the loader finds.

    """

    file: str

    def open(self) -> ctypes.CDLL | None:
        """Return the library as torch_npu would get it, or None if it does not load."""
        try:
            return loaded_library(self.file) or ctypes.CDLL(self.file)
        except OSError:
            return None

    def state(self) -> str:
        """Return "loaded", "found", "not found", or why it does not load."""
        if loaded_library(self.file) is not None:
            return "loaded"
        try:
            ctypes.CDLL(self.file)
        except OSError as error:
            missing = str(error).startswith(f"{self.file}: cannot open shared object file: No such file")
            return "not found" if missing else f"does not load: {error}"
        return "found"


def searched(environment: Mapping[str, str] = os.environ) -> list[Library]:
    """Return all the libraries that torch_npu searches under these environment variables."""
    custom = [Path(path) / LIBRARY for path in environment.get(VARIABLE, "").split(os.pathsep) if path]
    custom += [vendor / LIBRARY for vendor in _vendors(environment)]
    return [Library(str(file)) for file in (*custom, *_parts_of_cann(environment), *OPERATOR_LIBRARIES)]


def resolve(entry_point: str, libraries: list[Library]) -> Path | None:
    """Return the path of the first library that has both phases of the entry point, or None."""
    for library in libraries:
        opened = library.open()
        if opened is not None and hasattr(opened, entry_point) and hasattr(opened, entry_point + "GetWorkspaceSize"):
            return library_of(getattr(opened, entry_point))
    return None


def _vendors(environment: Mapping[str, str]) -> list[Path]:
    vendors = Path(environment.get("ASCEND_OPP_PATH", ""), "vendors")
    configuration = vendors / "config.ini"
    if not environment.get("ASCEND_OPP_PATH") or not configuration.is_file():
        return []
    lines = configuration.read_text(errors="replace").splitlines()
    priority = next((line for line in lines if line.startswith(_PRIORITY)), _PRIORITY)
    return [vendors / name for name in priority.removeprefix(_PRIORITY).split(",") if name]


def _parts_of_cann(environment: Mapping[str, str]) -> list[str]:
    # Found in this directory, and then opened by name.
    directory = Path(environment.get("ASCEND_HOME_PATH", ""), "lib64")
    return sorted(path.name for path in directory.glob("libopapi_*.so")) if environment.get("ASCEND_HOME_PATH") else []
