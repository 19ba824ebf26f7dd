"""The entry points of the host engine, as its loaded libraries list them (``include/torch_aclnn/entry_points.h``)."""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint64
from dataclasses import dataclass
from typing import Any

from torch_aclnn.host import records
from torch_aclnn.loading.engine import is_active
from torch_aclnn.loading.loader import loaded_library

_Parameter = records.kind(kind=c_char_p, name=c_char_p, nullable=c_int, data_types=c_uint64)

_Record = records.kind(
    size=c_size_t,
    name=c_char_p,
    family=c_char_p,
    refused=c_int,
    data_types=c_uint64,
    calls=c_uint64,
    parameters=POINTER(_Parameter),
    parameter_count=c_size_t,
    parameter_size=c_size_t,
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of an entry point's first phase.

    Attributes:
        kind: how the engine reads it: ``"In"``, ``"Ints"``, ``"Dim"``, ...
        name: the documented name.
        nullable: whether a null pointer means "not given".
        data_types: for tensors after the first, the ``aclDataType`` values that they may have; empty if other arguments decide.

    """

    kind: str
    name: str
    nullable: bool
    data_types: frozenset[int]


@dataclass(frozen=True)
class EntryPoint:
    """An entry point.

    Attributes:
        name: as ``aclnnAvgPool2dBackward``.
        family: the family, as ``vision``.
        refused: whether each call of it fails, with a message.
        data_types: the ``aclDataType`` values that its first tensor may have.
        calls: how often it has run in this process.
        parameters: of the first phase, without ``workspaceSize`` and ``executor``; empty where the engine does not describe them.

    """

    name: str
    family: str
    refused: bool
    data_types: frozenset[int]
    calls: int
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return self.name


def entry_points() -> list[EntryPoint]:
    """Return the entry points of the engine's libraries that this process has loaded, by name.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device.

    Example:
        >>> import torch_aclnn
        >>> from torch_aclnn.host.registry import entry_points
        >>> next(entry.family for entry in entry_points() if entry.name == "aclnnAvgPool2dBackward")
        'vision'

    """
    return sorted((_described(record) for record in _records()), key=str)


def named_operators() -> list[str]:
    """Return the operators that the engine runs by name, in the order of the alphabet.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device.

    Example:
        >>> import torch_aclnn
        >>> from torch_aclnn.host.registry import named_operators
        >>> "Identity" in named_operators()
        True

    """
    describe = host_runtime().torchAclnnHostNamedOperators
    describe.restype = ctypes.c_size_t
    describe.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t]
    names = (ctypes.c_char_p * describe(None, 0))()
    found = min(describe(names, len(names)), len(names))
    return [name.decode() for name in names[:found] if name is not None]


def counts() -> dict[str, int]:
    """Return the calls of each entry point that has run, by name; cheaper than :func:`entry_points`."""
    counted = {record.name.decode(): record.calls for record in _records() if record.calls}
    return dict(sorted(counted.items()))


def cache_hits() -> int:
    """Return how many calls found their executor in the cache."""
    host_runtime()
    library = loaded_library("libopapi.so")
    if library is None:
        return 0
    library.torchAclnnHostExecutorCacheHits.restype = ctypes.c_uint64
    return library.torchAclnnHostExecutorCacheHits()


def host_runtime() -> ctypes.CDLL:
    """Return the engine's ``libascendcl.so``.

    Raises:
        RuntimeError: it does not answer in this process.

    """
    runtime = loaded_library("libascendcl.so")
    if runtime is None or not is_active():
        raise RuntimeError("torch_aclnn.host: the host engine is not active in this process")
    return runtime


def _records() -> list[Any]:
    return records.all_of(host_runtime().torchAclnnHostEntryPoints, _Record)


def _described(record: Any) -> EntryPoint:
    first = ctypes.cast(record.parameters, ctypes.c_void_p).value or 0
    parameters = [_Parameter.from_address(first + i * record.parameter_size) for i in range(record.parameter_count)]
    return EntryPoint(
        record.name.decode(),
        record.family.decode(),
        bool(record.refused),
        _members(record.data_types),
        record.calls,
        tuple(Parameter(p.kind.decode(), p.name.decode(), bool(p.nullable), _members(p.data_types)) for p in parameters),
    )


def _members(data_types: int) -> frozenset[int]:
    return frozenset(bit for bit in range(64) if data_types >> bit & 1)
