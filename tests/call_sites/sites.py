"""The calls of entry points in a checkout of op-plugin: those in C++, and the rows of its table of which C++ is generated."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from .inference import TENSOR, Symbol, arguments_of, parameters_of, symbol_of, symbols_of
from .kinds import Kind, cpp_kind
from .source import macro_calls, plain, split

# The macros that call an entry point, and how many arguments stand between it and its own.
MACROS = {
    **dict.fromkeys(("EXEC_NPU_CMD", "EXEC_NPU_CMD_EXT", "EXEC_NPU_CMD_SYNC", "EXEC_NPU_NO_FORMAT_CHECK_CMD"), 0),
    "EXEC_GET_MAX_WORKSPACE_CMD": 0,
    "EXEC_UPDATE_NPU_NO_FORMAT_CHECK_CMD": 2,
}
_MACROS = re.compile(rf"\b({'|'.join(MACROS)})\s*\((?!\s*aclnn_api\b)")
_FUNCTION = re.compile(
    r"^(?:static |inline |constexpr |TORCH_NPU_API )*((?:const )?[A-Za-z_][\w:<>, ]*?[&*]?)\s+[&*]?(\w+)\(", re.MULTILINE
)
_SCHEMA_TYPES = {
    "Tensor": "tensor",
    "Tensor[]": "tensor list",
    "Tensor?[]": "tensor list",
    "Scalar": "scalar",
    "Scalar[]": "scalar list",
    "ScalarType": "dtype",
    "int": "int64",
    "SymInt": "int64",
    "float": "double",
    "bool": "bool",
    "str": "string",
}


@dataclass(frozen=True)
class Call:
    """A call of an entry point's first phase, without the workspace and the executor."""

    entry_point: str
    place: str
    arguments: tuple[Symbol, ...]
    symbols: Mapping[str, Symbol] = field(default_factory=dict, compare=False)  # what the names are that its arguments use
    callers: tuple["Call", ...] = ()  # of a function that is given what the call writes: the same with what each of its callers passes


def calls(checkout: Path) -> Iterator[Call]:
    """Yield the calls of a checkout."""
    sources = [path for path in sorted((checkout / "op_plugin").rglob("*")) if path.suffix in (".h", ".cpp")]
    functions = returned_kinds(path.read_text() for path in sources)
    for folder in ("ops/opapi", "utils"):
        for path in sorted((checkout / "op_plugin" / folder).rglob("*.cpp")):
            yield from calls_in(path.read_text(), path.name, functions)
    table = checkout / "op_plugin" / "config" / "op_plugin_functions.yaml"
    yield from rows_in(yaml.safe_load(table.read_text()), table.name, functions)


def returned_kinds(texts: Iterable[str]) -> dict[str, Kind | None]:
    """Return what the functions return that are defined or declared at the beginning of a line, None where overloads differ."""
    found: dict[str, Kind | None] = {}
    for text in texts:
        for returned, name in _FUNCTION.findall(plain(text)):
            kind = cpp_kind(returned)
            found[name] = kind if found.get(name, kind) == kind else None
    return found


def calls_in(text: str, place: str, functions: Mapping[str, Kind | None]) -> Iterator[Call]:
    """Yield the calls of a source file."""
    for found in macro_calls(text, _MACROS):
        if found.arguments and re.fullmatch(r"acl\w+", found.arguments[0]):
            symbols = symbols_of(found, functions)
            own = tuple(arguments_of(found, symbols, functions)[MACROS[found.macro] :])
            call = Call(found.arguments[0], f"{place}:{found.line}", own, symbols)
            yield replace(call, callers=tuple(_callers(text, place, call, found.function, functions)))


def _callers(text: str, place: str, call: Call, function: str, functions: Mapping[str, Kind | None]) -> Iterator[Call]:
    """Yield the call as the other functions of the file make it, if it writes what its function was given to write."""
    declared = re.match(r".*?(\w+) ?\(", function)
    if declared is None or not any(_is_given(argument) and argument.name in call.symbols for argument in call.arguments):
        return
    parameters = list(parameters_of(function, functions))
    for found in macro_calls(text, re.compile(rf"(?<![\w.>:])({declared[1]})\s*\((?!\s*(?:const\b|at::Tensor ?&))")):
        if found.function and found.function != function and len(found.arguments) == len(parameters):
            passed = dict(zip(parameters, found.arguments, strict=True))
            symbols = symbols_of(found, functions)
            texts = [passed.get(argument.name, "") for argument in call.arguments]
            arguments = tuple(replace(symbol_of(text, symbols, functions), name=text) for text in texts)
            yield Call(call.entry_point, f"{place}:{found.line}", arguments, symbols)


def _is_given(argument: Symbol) -> bool:
    return argument.kind == TENSOR and not (argument.local or argument.constant or argument.checked)


def rows_in(table: Mapping[str, Any], place: str, functions: Mapping[str, Kind | None]) -> Iterator[Call]:
    """Yield the calls of the generated operators. A row has an entry point, its arguments unless they are the operator's, and outputs."""
    rows = [row for section in table.values() if isinstance(section, list) for row in section if isinstance(row, dict)]
    for row in rows:
        generated = row.get("gen_opapi")
        if isinstance(generated, dict) and "exec" in generated:
            yield row_call(row["func"], generated, place, functions)
            for scalar in generated.get("cpu_scalar_op", ()):  # the same call with a tensor's only value, and another entry point
                arguments = generated["exec"].partition(",")[1:]
                values = {**generated.get("new_params", {}), scalar["param"]: f"{scalar['param']}.item()"}
                yield row_call(
                    row["func"], {**generated, "exec": scalar["exec"] + "".join(arguments), "new_params": values}, place, functions
                )


def row_call(schema: str, generated: Mapping[str, Any], place: str, functions: Mapping[str, Kind | None]) -> Call:
    """Return the call of a row."""
    entry_point, *names = split(generated["exec"])
    symbols = _parameters(schema)
    described = {name: value for name, value in generated.items() if isinstance(value, dict) and "size" in value}
    outputs = {name: value for name, value in described.items() if name not in symbols and "dtype" in value}
    if not names:
        names = [*symbols, *outputs]
    for name, value in described.items():
        text = f"generated({value['size']}, {value.get('dtype', name)})"
        if name in outputs:
            symbols[name] = Symbol(Kind("tensor"), text, local=True, value=text)
        elif name in symbols:
            symbols[name] = replace(symbols[name], checked=text)
    for name, value in generated.get("new_params", {}).items():
        symbols[name] = replace(symbol_of(value, symbols, functions), local=True, value=value, checked="")
    known = [replace(symbol_of(name, symbols, functions), name=name) for name in names]
    return Call(entry_point, f"{place}: {schema.split('(')[0]}", tuple(known), symbols)


def _parameters(schema: str) -> dict[str, Symbol]:
    """Return the parameters of a schema such as ``f(Tensor(a!) self, int[2]? size=None, *, bool flag) -> Tensor``."""
    found: dict[str, Symbol] = {}
    for parameter in split(schema[schema.index("(") + 1 : schema.rindex(") ->")]):
        if parameter != "*":
            declared, name = parameter.split("=")[0].rsplit(" ", 1)
            found[name] = Symbol(_schema_kind(declared), constant="!" not in declared)
    return found


def _schema_kind(declared: str) -> Kind | None:
    plain_type = re.sub(r"\(\w+!?\)|\[\d+\]", lambda match: "" if match[0][0] == "(" else "[]", declared)
    optional = plain_type.endswith("?")
    plain_type = plain_type.rstrip("?")
    name = {"int[]": "int array", "SymInt[]": "int array", "bool[]": "bool array"}.get(plain_type) or _SCHEMA_TYPES.get(plain_type)
    return Kind(name, optional) if name else None
