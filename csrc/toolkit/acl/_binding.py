"""Functions of the engine's libascendcl.so as Python functions, each made from a line of a table.

A line has the Python name, the C function and its parameters in the order of C: ``name:kind``, with ``>`` before what the function returns
through a pointer and ``?`` behind the kind of what may be left out. The Python function takes the other parameters, and returns the results
and behind them the code: ``value, ret``, or ``ret`` alone. Behind ``->`` stands the kind of a C function that returns no code.
"""

import ctypes
import operator
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

TOOLKIT = Path(__file__).absolute().parents[3]

_LIBRARY = "libascendcl.so"
_HOST_SYMBOL = "torchAclnnHostEntryPoints"  # a symbol that only the engine has

INTEGERS: dict[str, Any] = {
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "size": ctypes.c_size_t,
    "address": ctypes.c_size_t,
}


class _Location(ctypes.Structure):
    _fields_ = (("id", ctypes.c_uint32), ("type", ctypes.c_int32))


class _PhysicalMemory(ctypes.Structure):
    _fields_ = (
        ("handleType", ctypes.c_int32),
        ("allocationType", ctypes.c_int32),
        ("memAttr", ctypes.c_int32),
        ("location", _Location),
        ("reserve", ctypes.c_uint64),
    )


def _open() -> ctypes.CDLL:
    """Return the engine's runtime: the one that the process has loaded, or the one of this toolkit."""
    try:
        found = ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return ctypes.CDLL(str(TOOLKIT / "lib64" / _LIBRARY), mode=ctypes.RTLD_GLOBAL)
    if not hasattr(found, _HOST_SYMBOL):
        raise ImportError(f"{__file__} is for the torch_aclnn host engine, but CANN's {_LIBRARY} is loaded; use CANN's own module acl")
    return found


LIBRARY = _open()


def wrong_type(function: str, parameter: str, expected: str, value: object) -> TypeError:
    """Return the error for an argument of a wrong type."""
    return TypeError(f"{function}: {parameter}: expected {expected}, got {type(value).__name__}")


def to_integer(function: str, parameter: str, kind: str, value: object) -> Any:
    """Return the C integer; what does not fit would otherwise lose its upper bits."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong_type(function, parameter, "int", value) from None
    made = INTEGERS[kind](number)
    if made.value != number:
        bits, signed = ctypes.sizeof(made) * 8, kind == "i32"
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        raise OverflowError(f"{function}: {parameter}: expected a value in {least}..{most}, got {number}")
    return made


def _to_text(function: str, parameter: str, value: object) -> ctypes.c_char_p:
    if value is not None and not isinstance(value, str):
        raise wrong_type(function, parameter, "str", value)
    return ctypes.c_char_p(None if value is None else os.fsencode(value))


def _to_structure(function: str, parameter: str, made: Any, value: object) -> Any:
    if not isinstance(value, Mapping):
        raise wrong_type(function, parameter, "dict", value)
    for name, ctype in made._fields_:
        if name not in value:
            raise TypeError(f"{function}: {parameter}: expected the key {name!r}, got {sorted(map(str, value))}")
        where = f"{parameter}[{name!r}]"
        field = getattr(made, name)
        if isinstance(field, ctypes.Structure):
            _to_structure(function, where, field, value[name])
        else:
            kind = next(kind for kind, known in INTEGERS.items() if known is ctype)
            setattr(made, name, to_integer(function, where, kind, value[name]).value)
    return made


def _to_c(function: str, parameter: str, kind: str, value: object) -> Any:
    if kind == "text":
        return _to_text(function, parameter, value)
    if kind == "physical":
        return ctypes.byref(_to_structure(function, parameter, _PhysicalMemory(), value))
    return to_integer(function, parameter, kind, value)


def refuse(name: str, what: str) -> Callable[..., NoReturn]:
    """Return a function in the place of one that the engine does not have."""

    def refused(*_: object, **__: object) -> NoReturn:
        raise NotImplementedError(f"{name}: the torch_aclnn host engine has no {what}")

    return named(refused, name, f"Not in the host engine: {what}.")


def refuse_all(module: str, names: Mapping[str, str]) -> dict[str, Callable[..., NoReturn]]:
    """Return functions that refuse, for names that are grouped by what the engine lacks."""
    return {name: refuse(f"{module}.{name}", what) for what, group in names.items() for name in group.split()}


def named(function: Any, name: str, documentation: str) -> Any:
    """Return the function with the name and the documentation that help() shows."""
    function.__module__, _, function.__name__ = name.rpartition(".")
    function.__qualname__, function.__doc__ = function.__name__, documentation
    return function


def _split(parameter: str) -> tuple[str, str]:
    name, _, kind = parameter.partition(":")
    return name, kind


def _bind(module: str, row: str) -> tuple[str, Callable[..., Any]]:
    row, _, result = row.partition("->")
    name, c_name, *columns = row.split()
    shown = f"{module}.{name}"
    function = getattr(LIBRARY, c_name, None)
    if function is None:
        return name, refuse(shown, c_name)
    outputs = [_split(column[1:]) for column in columns if column[0] == ">"]
    inputs = [_split(column) for column in columns if column[0] != ">"]
    is_output = [column[0] == ">" for column in columns]
    least = sum(not kind.endswith("?") for _, kind in inputs)
    parameters = ", ".join(parameter for parameter, _ in inputs)
    inputs = [(parameter, kind.rstrip("?")) for parameter, kind in inputs]
    if result.strip() == "text":
        function.restype = ctypes.c_char_p

    def call(*values: object) -> Any:
        if not least <= len(values) <= len(inputs):
            raise TypeError(f"{shown}: expected the arguments ({parameters}), got {len(values)}")
        results = [ctypes.c_float() if kind == "float" else INTEGERS[kind]() for _, kind in outputs]
        given = [_to_c(shown, *inputs[i], value) for i, value in enumerate(values)] + [None] * (len(inputs) - len(values))
        pointers, rest = map(ctypes.byref, results), iter(given)
        returned = function(*[next(pointers) if is_out else next(rest) for is_out in is_output])
        if isinstance(returned, bytes):
            return returned.decode(errors="replace")
        return (*[made.value for made in results], returned) if results else returned

    returns = ", ".join([output for output, _ in outputs] + ["text" if result else "ret"])
    return name, named(call, shown, f"{returns} = {shown}({parameters}), which calls {c_name}.")


def bind(module: str, table: str) -> dict[str, Callable[..., Any]]:
    """Return the functions of a table, by name."""
    return dict(_bind(module, row) for row in table.splitlines() if row)
