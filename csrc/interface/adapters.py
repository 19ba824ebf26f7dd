"""Declarations of the engine's sources: the entry points of csrc/engine/opapi and csrc/engine/aten, with their parameters' C types.

The sources are read with their own macros expanded by the preprocessor, in which OPAPI_ENTRY and ATEN_CHECKED_ENTRY are defined as a
mark instead of a function. The C type of a kind follows from the definitions of kinds, in the same folder.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

_MARK = "TORCH_ACLNN_ENTRY_POINT"
_KIND_AND_NAME = "(kind, name)"
_MACROS = f"""\
#define OPAPI_ENTRY(entry_point, family, offer, prepare, ...) {_MARK}(entry_point, __VA_ARGS__)
#define ATEN_ENTRY(entry_point, dtypes, ...) {_MARK}(entry_point, TORCH_ACLNN_FOR_EACH(PARAMETER, __VA_ARGS__))
#define ATEN_CHECKED_ENTRY(entry_point, dtypes, check, ...) ATEN_ENTRY(entry_point, dtypes, __VA_ARGS__)
"""
_FOR_EACH = "engine/opapi/for_each.h"
# Their macros are those above.
_FORMS = ("engine/opapi/entry.h", "engine/aten/adapter/adapter.h")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<[^>]*>|"(?P<path>[^"]*)")[^\n]*$', re.MULTILINE)
_ENTRY_POINT = re.compile(_MARK + r"\(\s*(?P<name>\w+)\s*,")
_PARAMETER = re.compile(r"\(\s*(?P<kind>[^(),]+(?:<[^()]*>)?)\s*,\s*(?P<name>\w+)\s*\)")
_MAX_WORKSPACE = re.compile(r"^ATEN_MAX_WORKSPACE\((?P<name>\w+)\)$", re.MULTILINE)
# A function in one phase, or one that is written out.
_FUNCTION = re.compile(
    r'^extern "C" TORCH_ACLNN_HOST_API (?P<type>[\w ]+[ *]+)(?P<name>aclnn\w+)\((?P<parameters>[^()]*)\)\s*\{', re.MULTILINE
)
# using Kind = Kind<aclTensor*, ...>; struct Kind : Base {
_ALIAS = re.compile(r"\busing (?P<name>\w+) =\s*(?P<base>\w+)\s*(?:<(?P<arguments>[^;]*)>)?;")
_STRUCT = re.compile(
    r"(?:template <(?P<template>[^>]*)>\s*)?\bstruct (?P<name>\w+) : (?:public )?(?P<base>\w+)\s*(?:<(?P<arguments>[^{]*)>)?\s*\{"
)
# The templates whose first argument is the C type.
_ROOTS = {"Kind", "OptionalKind", "PlainKind"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a C function, with its type as C has it: ``const aclTensor*``."""

    type: str
    name: str


@dataclass(frozen=True)
class Function:
    """A C function; ``parameters`` are those of its documents."""

    type: str
    name: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class EntryPoint:
    """An entry point: the functions of its two phases, or the one function of something that is computed at once.

    Some have another form of phase 1, for the largest workspace.
    """

    name: str
    functions: tuple[Function, ...]


def read(sources: Path, folder: str, preprocessor: Sequence[str]) -> list[EntryPoint]:
    """Return the entry points that a library of the engine exports, by name.

    Args:
        sources: the folder csrc.
        folder: its sources, such as ``engine/aten``.
        preprocessor: the compiler and its options, as for C++.

    """
    files = sorted((sources / folder).rglob("*.cpp"))
    kinds = _Kinds(file.read_text() for file in sorted((sources / folder).rglob("*.[ch]*")))
    found: dict[str, EntryPoint] = {}
    for file in files:
        text = file.read_text()
        entry_points = [_two_phases(name, _kinds_and_names(parameters), kinds) for name, parameters in marked(sources, text, preprocessor)]
        for entry_point in [*entry_points, *_written_out(text)]:
            if entry_point.name in found:
                raise SystemExit(f"{file}: {entry_point.name} is defined twice")
            found[entry_point.name] = entry_point
        for match in _MAX_WORKSPACE.finditer(text):
            found[match["name"]] = _with_max_workspace(found[match["name"]])
    return [found[name] for name in sorted(found)]


def marked(sources: Path, text: str, preprocessor: Sequence[str], parameter: str = _KIND_AND_NAME) -> Iterator[tuple[str, str]]:
    """Yield the entry points of a source file: the name, and the text of the parameters.

    Args:
        sources: the folder csrc.
        text: of the file.
        preprocessor: the compiler and its options, as for C++.
        parameter: how each parameter is written, of its ``kind``, its ``name`` and, as ``__VA_ARGS__``, its shape.

    """
    if "ATEN_" not in text and "OPAPI_" not in text:
        return
    expanded = subprocess.run(
        [*preprocessor, "-E", "-P", "-w", "-x", "c++", "-std=c++20", "-"],
        input=f"#define PARAMETER(kind, name, ...) {parameter}\n"
        + (sources / _FOR_EACH).read_text()
        + _MACROS
        + _with_own_headers(sources, text, set(_FORMS)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    for match in _ENTRY_POINT.finditer(expanded):
        yield match["name"], expanded[match.end() : _closing(expanded, match.end())]


def _closing(text: str, start: int) -> int:
    # Returns the position of the parenthesis that closes one that is open at the start.
    depth = 1
    for position in range(start, len(text)):
        depth += (text[position] == "(") - (text[position] == ")")
        if depth == 0:
            return position
    raise SystemExit("csrc/engine: an entry point without a closing parenthesis")


def _kinds_and_names(parameters: str) -> list[tuple[str, str]]:
    return [(found["kind"].strip(), found["name"]) for found in _PARAMETER.finditer(parameters)]


def _with_own_headers(sources: Path, text: str, seen: set[str]) -> str:
    # Only the adapters' own headers and the table of operators have macros of entry points; those of ATen would take minutes.
    def replacement(match: re.Match[str]) -> str:
        path = match["path"]
        if path is None or path in seen or not path.startswith(("engine/aten/", "contract/operators")):
            return ""
        seen.add(path)
        return _with_own_headers(sources, (sources / path).read_text(), seen)

    return _INCLUDE.sub(replacement, text)


def _two_phases(name: str, parameters: Iterable[tuple[str, str]], kinds: "_Kinds") -> EntryPoint:
    declared = tuple(Parameter(kinds.c_type(kind), parameter) for kind, parameter in parameters)
    return EntryPoint(name, (phase1(name, declared), phase2(name)))


def phase1(name: str, parameters: tuple[Parameter, ...]) -> Function:
    """Return the function of an entry point that checks the arguments."""
    results = (Parameter("uint64_t*", "workspaceSize"), Parameter("aclOpExecutor**", "executor"))
    return Function("aclnnStatus", f"{name}GetWorkspaceSize", parameters + results)


def phase2(name: str) -> Function:
    """Return the function of an entry point that has the work done."""
    parameters = {"workspace": "void*", "workspaceSize": "uint64_t", "executor": "aclOpExecutor*", "stream": "aclrtStream"}
    return Function("aclnnStatus", name, tuple(Parameter(type, parameter) for parameter, type in parameters.items()))


def _with_max_workspace(entry_point: EntryPoint) -> EntryPoint:
    first, *others = entry_point.functions
    return replace(entry_point, functions=(first, replace(first, name=f"{entry_point.name}GetMaxWorkspaceSize"), *others))


def _written_out(text: str) -> Iterator[EntryPoint]:
    functions = {}
    for match in _FUNCTION.finditer(text):
        parameters = [" ".join(parameter.split()) for parameter in match["parameters"].split(",") if parameter.strip()]
        split = [re.fullmatch(r"(.*[\s*])(\w+)", parameter) for parameter in parameters]
        if not all(split):
            raise SystemExit(f"{match['name']}: expected a name for each parameter, got ({match['parameters']})")
        declared = tuple(Parameter(parts[1].strip(), parts[2]) for parts in split if parts)
        functions[match["name"]] = Function(match["type"].strip(), match["name"], declared)
    for name, function in functions.items():
        first = functions.get(f"{name}GetWorkspaceSize")
        if not name.endswith("GetWorkspaceSize") or name.removesuffix("GetWorkspaceSize") not in functions:
            yield EntryPoint(name, (first, function) if first else (function,))


class _Kinds:
    """The C type of each kind of argument, from the definitions in the sources."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._definitions: dict[str, re.Match[str]] = {}
        for text in texts:
            for pattern in (_ALIAS, _STRUCT):
                self._definitions.update({match["name"]: match for match in pattern.finditer(text)})

    def c_type(self, kind: str) -> str:
        """Return the C type of a kind as an adapter writes it: ``In``, ``Steps<2>``."""
        name, arguments = _template(kind)
        if name in _ROOTS:
            return arguments[0]
        definition = self._definitions.get(name)
        if definition is None:
            raise SystemExit(f"csrc/engine: no definition of the kind {kind} in a form that csrc/interface/adapters.py reads")
        base = definition["base"] + (f"<{definition['arguments']}>" if definition["arguments"] else "")
        return self.c_type(_substituted(base, definition, arguments))


def _substituted(base: str, definition: re.Match[str], arguments: list[str]) -> str:
    # Replaces the parameters of a template of kinds by its arguments.
    declared = (definition.groupdict().get("template") or "").split(",")
    for parameter, argument in zip((text.split()[-1] for text in declared if text.strip()), arguments, strict=False):
        base = re.sub(rf"\b{parameter}\b", argument, base)
    return base


def _template(kind: str) -> tuple[str, list[str]]:
    match = re.fullmatch(r"(\w+)\s*<(.*)>", kind.strip(), re.DOTALL)
    return (match[1], _arguments(match[2])) if match else (kind.strip(), [])


def _arguments(text: str) -> list[str]:
    arguments, depth = [""], 0
    for character in text:
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += character
    return [" ".join(argument.split()) for argument in arguments]
