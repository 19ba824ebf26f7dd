"""Libraries of entry points that a program brings, as torch_npu finds them: op_api/lib/libcust_opapi.so in ``ASCEND_CUSTOM_OPP_PATH``."""

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "ASCEND_CUSTOM_OPP_PATH"
LIBRARY = Path("op_api", "lib", "libcust_opapi.so")
# The name of a function that each library made for the engine calls (include/torch_aclnn/custom_operator.h). Libraries made for CANN do not
# have it, and cannot read the engine's handles.
_MARK = b"\0torchAclnnHostFirstPhase\0"


def directories(environment: Mapping[str, str], *, of_engine: bool) -> list[str]:
    """Return those directories of the variable whose libraries are made for the engine, or those of the libraries made for CANN."""
    given = filter(None, environment.get(VARIABLE, "").split(os.pathsep))
    return [path for path in given if _is_of_engine(Path(path) / LIBRARY) == of_engine]


def require_loadable(environment: Mapping[str, str] = os.environ) -> None:
    """Load the libraries made for the engine, with all that they use: torch_npu would find out at the first call.

    Raises:
        ImportError: one does not load; the message says why.

    """
    for path in directories(environment, of_engine=True):
        try:
            ctypes.CDLL(str(Path(path) / LIBRARY), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            raise ImportError(f"{VARIABLE}: {error}") from error


def _is_of_engine(library: Path) -> bool:
    # The file is read, because loading the library would run its code.
    try:
        return _MARK in library.read_bytes()
    except OSError:
        return False
