"""The entry points on ATen's kernels as libaclnn_math.so lists them (include/torch_aclnn/entry_points.h)."""

import ctypes
from dataclasses import dataclass


class _Parameter(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("name", ctypes.c_char_p), ("nullable", ctypes.c_int)]


class _EntryPoint(ctypes.Structure):
    pass


_EntryPoint._fields_ = [
    ("name", ctypes.c_char_p),
    ("data_types", ctypes.c_uint64),
    ("parameters", ctypes.POINTER(_Parameter)),
    ("parameter_count", ctypes.c_size_t),
    ("next", ctypes.POINTER(_EntryPoint)),
]


@dataclass(frozen=True)
class Parameter:
    kind: str
    name: str
    nullable: bool


@dataclass(frozen=True)
class EntryPoint:
    name: str
    data_types: frozenset[int]  # aclDataType, of the first tensor
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return self.name


def entry_points() -> list[EntryPoint]:
    """Return all of them, by name."""
    first = ctypes.CDLL("libaclnn_math.so").torchAclnnHostEntryPoints
    first.restype = ctypes.POINTER(_EntryPoint)
    found, node = [], first()
    while node:
        entry = node.contents
        parameters = (entry.parameters[i] for i in range(entry.parameter_count))
        found.append(
            EntryPoint(
                entry.name.decode(),
                frozenset(bit for bit in range(64) if entry.data_types >> bit & 1),
                tuple(Parameter(p.kind.decode(), p.name.decode(), bool(p.nullable)) for p in parameters),
            )
        )
        node = entry.next
    return sorted(found, key=str)
