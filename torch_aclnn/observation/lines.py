"""Lines of the program: the innermost place of a stack that is not in torch, torch_npu or Python's library."""

import os
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import FrameType

Place = tuple[str, int]

_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"]
_PACKAGES = ("torch", "torch_npu", "torch_aclnn")
_TYPED = ("<string>", "<stdin>")  # the file names of code behind -c, and from standard input
_SITE_PACKAGES = "site-packages"


@cache
def is_the_programs(file: str) -> bool:
    """Return whether the file is the program's, or of a library other than torch, torch_npu and Python's own."""
    if file.startswith("<") or not file:
        return file in _TYPED
    folders = Path(file).parts
    if _SITE_PACKAGES in folders:
        return folders[folders.index(_SITE_PACKAGES) + 1] not in _PACKAGES
    return not file.startswith((_STANDARD_LIBRARY, str(Path(__file__).parents[1]) + os.sep))


def line_of(places: Iterable[Place]) -> str:
    """Return the innermost line of the program, as ``train.py:31``, or "" if there is none; the places begin with the innermost."""
    return next((f"{name_of(file)}:{line}" for file, line in places if is_the_programs(file)), "")


@cache
def name_of(file: str) -> str:
    """Return the file as people call it: relative to the current folder, or to the packages."""
    _, packages, inside = file.rpartition(f"{_SITE_PACKAGES}{os.sep}")
    if packages:
        return inside
    relative = os.path.relpath(file) if file not in _TYPED else file
    return file if relative.startswith(os.pardir) else relative


def places_of(frame: FrameType | None) -> Iterable[Place]:
    """Yield the places of a frame and of its callers."""
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back


def current_line() -> str:
    """Return the line that the program executes on this thread."""
    return line_of(places_of(sys._getframe(1)))
