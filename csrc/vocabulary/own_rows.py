"""The entry points with kernels of their own: the rows of csrc/engine/opapi.

The sources are read with their own macros expanded by the preprocessor, in which OPAPI_ENTRY is a mark instead of a function.
"""

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from headers import EntryPoint, Parameter, two_phases
from records import c_type

_MARK = "TORCH_ACLNN_ENTRY_POINT"
_MACRO = f"#define OPAPI_ENTRY(entry_point, family, offer, prepare, ...) {_MARK}(entry_point, __VA_ARGS__)\n"
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*$", re.MULTILINE)
_ENTRY_POINT = re.compile(_MARK + r"\(\s*(?P<name>\w+)(?P<parameters>(?:\s*,\s*\([^()]*\))*)\s*\)")
_PARAMETER = re.compile(r"\(\s*(?P<kind>\w+)\s*,\s*(?P<name>\w+)\s*\)")


def read(csrc: Path, preprocessor: Sequence[str]) -> list[EntryPoint]:
    """Return the entry points that libopapi has itself, by name.

    Args:
        csrc: the folder of the sources.
        preprocessor: the compiler and its options, as for C++.

    """
    files = sorted((csrc / "engine" / "opapi").glob("*.cpp"))
    return sorted((row for file in files for row in _marked(csrc, file, preprocessor)), key=lambda entry_point: entry_point.name)


def _marked(csrc: Path, file: Path, preprocessor: Sequence[str]) -> Iterator[EntryPoint]:
    text = file.read_text()
    if "OPAPI_ENTRY" not in text:
        return
    # The table of operators alone has macros that rows are made by.
    table = _INCLUDE.sub("", (csrc / "contract" / "operators.h").read_text())
    text = table + _INCLUDE.sub("", text)
    expanded = subprocess.run(
        [*preprocessor, "-E", "-P", "-w", "-x", "c++", "-std=c++20", "-"],
        input=_MACRO + text,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    for match in _ENTRY_POINT.finditer(expanded):
        yield two_phases(match["name"], [Parameter(c_type(p["kind"]), p["name"]) for p in _PARAMETER.finditer(match["parameters"])])
