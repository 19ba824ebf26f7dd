"""Records that a function of the engine writes into an array of the caller's."""

import ctypes
from typing import Any, TypeVar

_Record = TypeVar("_Record", bound=ctypes.Structure)


def kind(**fields: Any) -> Any:
    """Return the type of a record with these fields, in their order."""
    return type("Record", (ctypes.Structure,), {"_fields_": tuple(fields.items())})


def all_of(function: Any, kind: type[_Record]) -> list[_Record]:
    """Return all records of a function that takes an array, its capacity and a record's size, and returns how many records there are."""
    function.restype = ctypes.c_size_t
    function.argtypes = [ctypes.POINTER(kind), ctypes.c_size_t, ctypes.c_size_t]
    size, room = ctypes.sizeof(kind), 0
    records = (kind * room)()
    while (found := function(records, room, size)) > room:  # another thread may add some between two calls
        room = found
        records = (kind * room)()
    return list(records[:found])
