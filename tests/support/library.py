"""Libraries of the engine, whose functions have the C types that the headers beside them declare."""

import ctypes
import functools
import re
from pathlib import Path
from typing import Any

_NUMBERS = {"bool": "bool", "float": "float", "double": "double", "int": "int", "size_t": "size_t"} | {
    f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_DECLARED = re.compile(r"ACL_FUNC_VISIBILITY ([^;{}()]*?)(\w+)\(([^()]*)\)(?:\s+__attribute__.*)?;")


@functools.cache
def declared(headers: Path) -> dict[str, tuple[list[Any] | None, Any]]:
    """Return the types of each function's parameters and of its result; what takes a structure by its value has no types of parameters.

    A parameter that is a pointer takes each address, handle and array.
    """
    files = sorted(path for folder in ("acl", "aclnn", "hccl", "torch_aclnn") for path in (headers / folder).glob("*.h"))
    text = "\n".join(re.sub(r"//.*", "", path.read_text()) for path in files)
    types = {name: getattr(ctypes, f"c_{kind}") for name, kind in _NUMBERS.items()}
    types |= dict.fromkeys(re.findall(r"typedef enum \{[^}]*\} (\w+);", text), ctypes.c_int)
    types |= dict.fromkeys(re.findall(r"typedef void ?\(?\* ?(\w+)", text), ctypes.c_void_p)
    types |= {name: types[kind] for kind, name in re.findall(r"typedef (\w+) (\w+);", text) if kind in types}

    def type_of(declaration: str) -> Any:
        if "*" in declaration or "[" in declaration:
            return ctypes.c_void_p
        return next((types[word] for word in declaration.split() if word in types), None)

    found: dict[str, tuple[list[Any] | None, Any]] = {}
    for result, name, parameters in _DECLARED.findall(text):
        arguments = [type_of(parameter) for parameter in parameters.split(",") if parameter.strip() not in ("", "void")]
        found[name] = (None if None in arguments else arguments, ctypes.c_char_p if "const char*" in result else type_of(result))
    return found


class Library(ctypes.CDLL):
    """A library of the engine, by its path. A function that no header declares returns an int, and is only called to be refused."""

    def __getattr__(self, name: str) -> Any:
        function = super().__getattr__(name)
        function.argtypes, function.restype = declared(Path(self._name).parents[1] / "include").get(name, (None, ctypes.c_int))
        return function
