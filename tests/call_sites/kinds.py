"""What an argument is, in one word for C++ types, types of schemas and C types."""

import re
from dataclasses import dataclass

C_TYPES = {
    "aclTensor*": "tensor",
    "aclTensorList*": "tensor list",
    "aclScalar*": "scalar",
    "aclScalarList*": "scalar list",
    "aclIntArray*": "int array",
    "aclBoolArray*": "bool array",
    "aclFloatArray*": "float array",
    "aclDataType": "dtype",
    "char*": "string",
    "bool": "bool",
    "double": "double",
    "float": "float",
    "int64_t": "int64",
    "uint64_t": "int64",
    "int32_t": "int32",
    "int": "int32",
    "int8_t": "int8",
}
_PLAIN = {
    "Tensor": "tensor",
    "TensorWrapper": "tensor",
    "TensorList": "tensor list",
    "ITensorListRef": "tensor list",
    "TensorListWrapper": "tensor list",
    "Scalar": "scalar",
    "IntArrayRef": "int array",
    "SymIntArrayRef": "int array",
    "ScalarType": "dtype",
    "aclDataType": "dtype",
    "string": "string",
    "string_view": "string",
    "char*": "string",
    "bool": "bool",
    "double": "double",
    "float": "float",
    "SymInt": "int64",
    "int8_t": "int8",
    **dict.fromkeys(("int64_t", "uint64_t", "size_t", "long"), "int64"),
    **dict.fromkeys(("int", "int32_t", "uint32_t"), "int32"),
}
_ARRAYS = {
    "tensor": "tensor list",
    "scalar": "scalar list",
    "int64": "int array",
    "bool": "bool array",
    "float": "float array",
    "double": "float array",
}
_SEQUENCES = re.compile(r"(?:ArrayRef|vector|SmallVector|array|initializer_list)<([^,]+)(?:,.*)?>")
_OPTIONALS = re.compile(r"(?:optional<(.+)>|Optional(ArrayRef<.+>|IntArrayRef|SymIntArrayRef))")


@dataclass(frozen=True)
class Kind:
    """A kind of argument; `optional` where it may be absent, which crosses the C interface as a null pointer."""

    name: str
    optional: bool = False

    def __str__(self) -> str:
        return f"optional {self.name}" if self.optional else self.name


def c_kind(declared: str) -> str:
    """Return the kind of a C type: of ``const aclTensor*``, tensor."""
    return C_TYPES[re.sub(r"\bconst\b|\s", "", declared)]


def cpp_kind(declared: str) -> Kind | None:
    """Return the kind of a C++ type, or None where the type is not one of those that cross the interface."""
    plain = re.sub(r"\b(?:const|static|constexpr|at|c10|std|torch)\b(?:::)?|::|[\s&]", "", declared)
    optional = _OPTIONALS.fullmatch(plain)
    if optional:
        inner = cpp_kind(optional[1] or optional[2])
        return inner and Kind(inner.name, True)
    if plain in _PLAIN:
        return Kind(_PLAIN[plain])
    sequence = _SEQUENCES.fullmatch(plain)
    element = cpp_kind(sequence[1]) if sequence else None
    return Kind(_ARRAYS[element.name]) if element and not element.optional and element.name in _ARRAYS else None
