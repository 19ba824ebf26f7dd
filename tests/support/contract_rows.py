"""Rows of the tables of violations of a contract: those of one operator's test, and those that are the same for all operators."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from support.dtypes import PRIVATE_FORMATS, DType, Format
from support.operators import GOOD
from support.status import INVALID, NULL
from support.tensors import tensors_of

VIOLATION = ("changes", "code", "parameter", "expected", "got")


def row(name: str, changes: dict[str, Any], parameter: str, expected: str, got: str, code: int = INVALID) -> Any:
    return pytest.param(changes, code, parameter, expected, got, id=name)


def text(dims: tuple[int, ...]) -> str:
    """Return the regular expression for dimensions as the engine prints them."""
    return re.escape("{" + ", ".join(map(str, dims)) + "}")


def in_turn(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return tuples in which each member occurs; one function checks all tensors, so pairs would prove no more."""
    return [tuple(axis[i % len(axis)] for axis in axes) for i in range(max(map(len, axes)))]


def null_rows(*required: str) -> list[Any]:
    rows = [row(f"null {name}", {name: None}, name, "a value", "^null$", NULL) for name in required]
    for name in ("workspaceSize", "executor"):
        rows.append(row(f"null {name}", {name: None}, "workspaceSize and executor", "results", "^null$", NULL))
    return rows


def storage_rows(entry_point: str) -> list[Any]:
    """Return the views that reach outside their storage, of one of the tensors each."""
    tensors, faults = list(tensors_of(GOOD[entry_point]).items()), len(_outside(1, 1))
    rows = [row(f"{name} without data", {name: {"null_data": True}}, name, "a data address", "^null$", NULL) for name, _ in tensors]
    for (name, tensor), number in in_turn(tensors, range(faults)):
        count = len(tensor.positions())
        fault, fields = list(_outside(len(tensor.shape), count).items())[number]
        got = f"^shape {text(tensor.shape)}, strides .* and offset {fields.get('offset', 0)}$"
        within = rf"a view within its storage of \{{{count}|{count - 1}\}}"
        expected = "^strides and an offset that are not negative$" if fault.startswith("negative") else within
        rows.append(row(f"{name} {fault}", {name: {"values": None, **fields}}, name, expected, got))
    return rows


def _outside(rank: int, count: int) -> dict[str, dict[str, Any]]:
    return {
        "offset past its storage": {"offset": 1, "storage": (count,)},
        "larger than its storage": {"storage": (count - 1,)},
        "negative offset": {"offset": -1, "storage": (count,)},
        "stride past its storage": {"strides": (count, *[1] * (rank - 1)), "storage": (count,)},
        "negative stride": {"strides": (-1,) * rank, "offset": count - 1, "storage": (count,)},
        "strides that overflow": {"strides": (2**62,) * rank, "storage": (count,), "address": 64},
    }


def private_format_rows(entry_point: str, reference: str | None = None, first: str | None = None) -> list[Any]:
    """Return the private formats for all tensors at once, and for each alone one of them.

    Where the formats of the others are compared with one tensor's, that one is the `reference`. The tensor that is
    checked first is the `first` of the parameters unless given.
    """
    names = tuple(tensors_of(GOOD[entry_point]))
    first = names[0] if first is None else first
    rows = []
    for format in PRIVATE_FORMATS:
        together = {name: {"format": format} for name in names}
        rows.append(row(f"all {format.name}", together, first, "a public format", f"^{format.name}$"))
    for name, format in in_turn(names, PRIVATE_FORMATS):
        if reference is None:
            expected = (name, "a public format", f"^{format.name}$")
        elif name == reference:
            expected = (first, f"the format of {reference}, {format.name}", f"^{default_format(entry_point)}$")
        else:
            expected = (name, f"the format of {reference}, {default_format(entry_point)}", f"^{format.name}$")
        rows.append(row(f"{name} {format.name}", {name: {"format": format}}, *expected))
    return rows


def default_format(entry_point: str) -> str:
    return Format(next(iter(tensors_of(GOOD[entry_point]).values())).real_format()).name


def dtype_rows(names: tuple[str, ...], listed: Iterable[DType], reference: str | None = None) -> list[Any]:
    """Return the types outside the list for all named tensors at once, and for each alone some of them.

    Where one tensor's wrong type is found as the first tensor's difference from it, that one is the `reference`.
    """
    listed = sorted(listed)
    list_of_types = "a data type of " + ", ".join(dtype.name for dtype in listed) + " on Ascend910B3"
    remedy = ", or DOUBLE with TORCH_ACLNN_HOST_MODE=float64" if DType.FLOAT in listed else ""
    outside = {dtype: f"{list_of_types}{remedy if dtype is DType.DOUBLE else ''}$" for dtype in DType if dtype not in listed}
    rows = []
    got = lambda dtype: rf"^{dtype.name}( \(not implemented for DT_\w+\))?$"
    for dtype, words in outside.items():
        together = {name: {"dtype": dtype, "values": None} for name in names}
        rows.append(row(f"all {dtype.name}", together, names[0], words, got(dtype)))
    for name, dtype in in_turn(names, list(outside)):
        expected = (name, outside[dtype] + "|the data type of", got(dtype))
        if name == reference:
            expected = (names[0], f"^the data type of {reference}, {dtype.name}$", "^FLOAT$")
        rows.append(row(f"{name} {dtype.name}", {name: {"dtype": dtype, "values": None}}, *expected))
    for unknown in (-1, 5, 99):
        together = {name: {"dtype": unknown, "values": None} for name in names}
        rows.append(row(f"all of the unknown type {unknown}", together, names[0], list_of_types, rf"^aclDataType\({unknown}\)$"))
    return rows


def difference_rows(entry_point: str, names: tuple[str, ...], reference: str, **fields: DType | Format) -> list[Any]:
    """Return each of the tensors with another dtype or format, listed in itself, than the reference."""
    rows = []
    for field, other in fields.items():
        what, usual = ("data type", "FLOAT") if field == "dtype" else ("format", default_format(entry_point))
        for name in names:
            parameter, expected, got = name, usual, other.name
            if name == reference:
                parameter, expected, got = names[0], other.name, usual
            rows.append(
                row(
                    f"{name} of another {field}",
                    {name: {field: other, "values": None}},
                    parameter,
                    f"^the {what} of {reference}, {expected}$",
                    f"^{got}$",
                )
            )
    return rows
