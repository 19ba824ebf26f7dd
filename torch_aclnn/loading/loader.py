"""The libraries that the dynamic loader has loaded into this process."""

import ctypes
import os
from pathlib import Path
from typing import Any


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("file_name", ctypes.c_char_p),
        ("file_base", ctypes.c_void_p),
        ("symbol_name", ctypes.c_char_p),
        ("symbol_address", ctypes.c_void_p),
    )


def loaded_library(name: str) -> ctypes.CDLL | None:
    """Return the library if this process has loaded it already, under this name or SONAME."""
    try:
        return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def library_of(function: Any) -> Path:
    """Return the path of the library that defines the function."""
    found = _DlInfo()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_DlInfo)]
    dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(found))
    return Path((found.file_name or b"?").decode())
