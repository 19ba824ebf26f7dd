"""ATen's operator of an entry point, found by name and arguments, which computes shapes and data types without data (device meta)."""

import ctypes
import re
import struct
from typing import Any

import torch
from arguments import BoolArray, IntArray, Scalar, TensorList, kind
from torch_aclnn.host.registry import EntryPoint, Parameter

from support.dtypes import DType
from support.named_operators import DATA_TYPES
from support.tensors import Tensor

OUTPUTS = ("Out", "OptOut", "Packed")
DTYPES = {number: dtype for dtype, number in DATA_TYPES.items()}

# The part between versions and overloads of an operator, which are words at the end of its name or `Reduce` in front of `Sum`.
_VERSIONS = re.compile(r"^(?:Reduce(?=Sum))?(.+?)((?:TensorTensor|Tensor|Scalar|Dim|All|Decimals|Correction|Mod|s|V\d)*)$")
# Kinds of parameters that ATen expresses by something else than a parameter.
_WITHOUT_COUNTERPART = ("Int8", "DType", "Bool")  # Int8 is the kind of cubeMathType


def is_output(parameter: Parameter) -> bool:
    return parameter.kind in OUTPUTS


def _snake(words: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()


def _fits(value: Any, parameter: Parameter, type_name: str) -> bool:
    if "DType" in (parameter.kind, type_name):
        return parameter.kind == type_name
    types: dict[type, tuple[str, ...]] = {
        Tensor: ("Tensor",), TensorList: ("List[Tensor]", "List[Optional[Tensor]]"), Scalar: ("number",), IntArray: ("List[int]",),
        BoolArray: ("List[bool]",), ctypes.c_int64: ("int",), ctypes.c_bool: ("bool",), ctypes.c_double: ("float", "number"),
        ctypes.c_float: ("float", "number"),
    }  # fmt: skip
    return type_name in types.get(type(value), ())


def _type_name(argument: torch._C.Argument) -> str:
    names = {"dtype": "DType", "layout": "", "memory_format": "", "device": "", "generator": ""}
    return names.get(argument.name, re.sub(r"^Optional\[(.*)\]$", r"\1", str(argument.type)))


def _assignment(inputs: list[Parameter], schema: torch._C.FunctionSchema) -> list[tuple[str, str]] | None:
    """Return which argument of ATen each input is, in both orders; None if they do not fit."""
    found, arguments = [], list(schema.arguments)
    for parameter in inputs:
        sound, is_left_out = kind(parameter.kind).sound, parameter.kind.partition(" in ")[0] in _WITHOUT_COUNTERPART
        for place, argument in enumerate(arguments):
            if _fits(sound, parameter, _type_name(argument)):
                found.append((parameter.name, argument.name))
                arguments = arguments[place + 1 :]
                break
            if not argument.has_default_value():
                if is_left_out:
                    break
                return None
        else:
            if not is_left_out:
                return None
    return found if all(argument.has_default_value() for argument in arguments) else None


def operator_of(entry_point: EntryPoint) -> tuple[Any, list[tuple[str, str]]] | None:
    """Return ATen's operator and its arguments' parameters; None where the names or the arguments do not say it."""
    inputs = [p for p in entry_point.parameters if not is_output(p)]
    found = _VERSIONS.match(entry_point.name.removeprefix("aclnn").removeprefix("Inplace"))
    if found is None:
        return None
    for words in (found[1] + found[2], found[1]):
        for name in (_snake(words), "_" + _snake(words)):
            packet = getattr(torch.ops.aten, name, None)
            operators = [getattr(packet, overload) for overload in (packet.overloads() if packet else ()) if "name" not in overload]
            usual = [o for o in operators if not any(a.is_out for a in o._schema.arguments)]
            fitting = [(o, assignment) for o in usual if (assignment := _assignment(inputs, o._schema)) is not None]
            if fitting:
                return max(fitting, key=lambda found: len(found[1]))
    return None


def described(operator: Any, assignment: list[tuple[str, str]], entry_point: EntryPoint, arguments: dict[str, Any]) -> list[Any] | None:
    """Return the operator's results for the arguments, without data; None where it refuses them or needs data."""
    parameters = {parameter.name: parameter for parameter in entry_point.parameters}
    defaults = {argument.name for argument in operator._schema.arguments if argument.has_default_value()}
    given = {theirs: _meta_value(arguments[mine], parameters[mine]) for mine, theirs in assignment}
    try:
        results = operator(**{name: value for name, value in given.items() if value is not None or name not in defaults})
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, AssertionError):
        return None
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _meta_value(value: Any, parameter: Parameter) -> Any:
    """Return the argument as Python passes it, a tensor as one without data."""
    if isinstance(value, Tensor):
        return torch.empty(value.shape, dtype=DTYPES[DType(value.dtype)], device="meta")
    if isinstance(value, TensorList):
        return [member and _meta_value(member, parameter) for member in value.members]
    if isinstance(value, Scalar):
        return _number(value)
    if isinstance(value, (IntArray, BoolArray)):
        return list(value.values)
    return DTYPES[DType(value.value)] if parameter.kind == "DType" else getattr(value, "value", value)


_FORMATS = {
    DType.FLOAT: "f", DType.DOUBLE: "d", DType.FLOAT16: "e", DType.BOOL: "?", DType.COMPLEX64: "2f", DType.COMPLEX128: "2d",
    DType.INT8: "b", DType.UINT8: "B", DType.INT16: "h", DType.INT32: "i", DType.INT64: "q",
}  # fmt: skip


def _number(scalar: Scalar) -> complex:
    if scalar.dtype == DType.BF16:
        return struct.unpack("<f", bytes(2) + scalar.bytes[:2])[0]
    numbers = struct.unpack_from("<" + _FORMATS[DType(scalar.dtype)], scalar.bytes)
    return numbers[0] if len(numbers) == 1 else complex(*numbers)
