"""CANN's Python module ``acl`` (pyACL) on the torch_aclnn host engine.

Functions return as its pages say: results and behind them a code, ``value, ret``, or ``ret`` alone. Python's own mistakes raise: a wrong
type TypeError, a number that C cannot hold OverflowError, a part of the module that the engine does not have NotImplementedError.
"""

import functools
import re
import sys
from types import ModuleType
from typing import Any

from acl import rt, util
from acl._binding import TOOLKIT, bind, refuse

TABLE = """
init                aclInit             config_path:text?
finalize            aclFinalize
get_soc_name        aclrtGetSocName     -> text
get_version         aclrtGetVersion     >major_version:i32 >minor_version:i32 >patch_version:i32
get_recent_err_msg  aclGetRecentErrMsg  -> text
"""
globals().update(bind(__name__, TABLE))

_REFUSED = {
    "blas": "operators by pyACL; torch_npu calls them",
    "himpi": "media processor",
    "mdl": "offline models",
    "media": "media processor",
    "op": "operators by pyACL; torch_npu calls them",
    "prof": "profiler",
}


class _Refused(ModuleType):
    """A part of pyACL that the engine does not have: whatever is asked of it is a function that says so."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return refuse(f"{self.__name__}.{name}", _REFUSED[self.__name__.removeprefix("acl.")])


for _part in _REFUSED:
    globals()[_part] = sys.modules[f"{__name__}.{_part}"] = _Refused(f"{__name__}.{_part}")


@functools.cache
def _constants() -> dict[str, int]:
    """Return the numbers that the toolkit's headers name."""
    text = "".join(path.read_text() for path in sorted((TOOLKIT / "include" / "acl").glob("*.h")))
    return {name: int(number, 0) for name, number in re.findall(r"\b(ACL_\w+) (?:= )?(-?(?:0x)?\d+)(?=u?[,;\s])", text)}


def __getattr__(name: str) -> int:
    if name.startswith("ACL_") and name in _constants():
        return _constants()[name]
    raise AttributeError(f"module {__name__!r} of the torch_aclnn host engine has no attribute {name!r}")


__all__ = ["finalize", "get_recent_err_msg", "get_soc_name", "get_version", "init", "rt", "util", *_REFUSED]
