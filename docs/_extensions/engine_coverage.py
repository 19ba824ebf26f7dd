"""Fills in the lists of pages (OF_PAGES), as the built engine and the package have them."""

import csv
import ctypes
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch_aclnn  # noqa: F401  # loads the engine's libraries
from torch_aclnn._operators import OPERATORS
from torch_aclnn.host.codes import error_codes
from torch_aclnn.host.data_types import TYPES
from torch_aclnn.host.registry import EntryPoint, entry_points, host_runtime, named_operators

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "csrc" / "vocabulary"))

import records  # noqa: E402  # of csrc/vocabulary

ABSENT = ROOT / "docs" / "absent_operations.tsv"
VOCABULARY = ROOT / "docs" / "vocabulary.tsv"
DOCUMENTED = ROOT / "tests" / "documented_apis" / "figures.tsv"
SUITES = {"op-plugin": ROOT / "tests" / "client_suites" / "op_plugin", "torch_npu": ROOT / "tests" / "client_suites" / "torch_npu"}

# Abbreviations in the document and their data types; a larger set comes after those that it has.
SETS = {
    "FLOATING": ("FLOAT", "FLOAT16", "BF16"),
    "INTEGRAL": ("INT8", "UINT8", "INT16", "INT32", "INT64"),
    "REAL": ("FLOATING", "DOUBLE", "INTEGRAL"),
    "COMPLEX": ("COMPLEX64", "COMPLEX128"),
    "NUMBERS": ("REAL", "BOOL", "COMPLEX"),
    "ANY": ("NUMBERS", "UINT16", "UINT32", "UINT64"),
}


def members(name: str) -> frozenset[int]:
    """Return the numbers of a data type or a set of them."""
    return frozenset({TYPES[name]}) if name in TYPES else frozenset().union(*map(members, SETS[name]))


def type_names(data_types: frozenset[int]) -> str:
    """Return the data types as the document names them: the largest sets that they have, then what is left.

    Raises:
        ValueError: there is one that has no name here.

    """
    left, names = set(data_types), []
    for name in (*reversed(SETS), *TYPES):
        if members(name) <= left:
            left -= members(name)
            names.append(name)
    if left:
        raise ValueError(f"data types without a name: {sorted(left)}")
    order = list(TYPES.values())
    return ", ".join(sorted(names, key=lambda name: min(order.index(number) for number in members(name))))


def families(implemented: Iterable[EntryPoint]) -> dict[str, list[EntryPoint]]:
    """Return the entry points of each family, both in the order of the alphabet."""
    found: dict[str, list[EntryPoint]] = {}
    for entry_point in sorted(implemented, key=lambda entry_point: (entry_point.family, entry_point.name)):
        found.setdefault(entry_point.family, []).append(entry_point)
    return found


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table with a line of titles."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def absent_operations() -> list[dict[str, str]]:
    """Return the torch operations that are refused on purpose: what users call, an example, and why."""
    return rows_of(ABSENT)


def vocabulary() -> list[dict[str, str]]:
    """Return the names that are published or that torch_npu looks up, and which of the two they are: as their record or the table says."""
    rows = {row["entry point"]: row for row in rows_of(VOCABULARY)}
    for record in (one for one in (*records.read_all(), *records.read_own()) if one.name.startswith("aclnn")):
        is_looked_up = "torch_npu" in record.callers and not record.function
        words = ["yes" if known else "no" for known in (is_looked_up, "unpublished" not in record.facts)]
        rows.setdefault(record.name, {"entry point": record.name, "torch_npu": words[0], "published": words[1]})
    return [rows[name] for name in sorted(rows)]


def callers() -> list[str]:
    """Return the entry points that each client calls, but torch_npu, and those that nobody is known to call."""
    found: dict[str, list[str]] = {}
    for record in records.read_all():
        for caller in record.callers or ("nobody known",):
            found.setdefault(caller, []).append(record.name.removeprefix("aclnn"))
    return table(
        "called by | entry points", ((caller, ", ".join(names)) for caller, names in sorted(found.items()) if caller != "torch_npu")
    )


def table(titles: str, rows: Iterable[Iterable[object]]) -> list[str]:
    """Return the lines of a table."""
    return [f"| {titles} |", "|" + "---|" * (titles.count("|") + 1), *(f"| {' | '.join(map(str, row))} |" for row in rows)]


def family_table(family: str, entry_points: list[EntryPoint]) -> list[str]:
    """Return a family's section; entry points with one set of types share a row."""
    rows: dict[str, list[str]] = {}
    for entry_point in entry_points:
        rows.setdefault(type_names(entry_point.data_types), []).append(entry_point.name.removeprefix("aclnn"))
    named = [(types, ", ".join(names)) for types, names in sorted(rows.items())]
    return ["", f"### {family.capitalize()} ({len(entry_points)})", "", *table("data types | entry points", named)]


def functions_of_one_phase(known: Iterable[EntryPoint]) -> list[str]:
    """Return the names of the vocabulary that are functions by themselves, without a GetWorkspaceSize."""
    library, listed = ctypes.CDLL("libopapi.so"), {entry_point.name for entry_point in known}
    names = [row["entry point"] for row in vocabulary()]
    return [name for name in names if name not in listed and hasattr(library, name) and not hasattr(library, f"{name}GetWorkspaceSize")]


def reason_of(entry_point: EntryPoint) -> str:
    """Return what a refused entry point says that the engine does not have."""
    phase1 = getattr(ctypes.CDLL("libopapi.so"), f"{entry_point.name}GetWorkspaceSize")
    runtime = host_runtime()
    runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
    if phase1() == 0:
        raise RuntimeError(f"{entry_point.name} is listed as refused, but computes")
    return runtime.aclGetRecentErrMsg().decode().split(" has no ", 1)[1]


def lists_of_vocabulary(known: Iterable[EntryPoint]) -> dict[str, list[str]]:
    """Return the lists of the names that do not compute, and how many do."""
    whole = functions_of_one_phase(known)
    computed = {entry_point.name for entry_point in known if not entry_point.refused} | set(whole)
    refused = {entry_point.name: entry_point for entry_point in known if entry_point.refused}
    names = {row["entry point"]: row for row in vocabulary()}
    counts = []
    for title, column in (("published", "published"), ("looked up by torch_npu 2.13", "torch_npu"), ("either", None)):
        of_row = [name for name, row in names.items() if column is None or row[column] == "yes"]
        numbers = [sum(name in group for name in of_row) for group in (of_row, computed, refused)]
        counts.append((title, *numbers, numbers[0] - numbers[1] - numbers[2]))
    reasons: dict[str, list[str]] = {}
    for name in sorted(refused.keys() & names.keys()):
        reasons.setdefault(reason_of(refused[name]), []).append(name.removeprefix("aclnn"))
    refusals = ((", ".join(group), reason) for reason, group in sorted(reasons.items()))
    return {
        "counts": table(" | names | computed | refused | missing", counts),
        "refused entry points": table("entry points | the engine has no", refusals),
        "functions of one phase": [in_a_row(whole)],
        "callers": callers(),
        "missing entry points": [in_a_row(name for name in names if name not in computed and name not in refused)],
    }


def lists_of_client_suites() -> dict[str, list[str]]:
    """Return the figures of the last runs of all tests of the suites, and each cause of a failure with its count."""
    figures = [dict(csv.reader((folder / "figures.tsv").read_text().splitlines(), delimiter="\t")) for folder in SUITES.values()]
    counted: Counter[tuple[str, ...]] = Counter()
    for suite, folder in SUITES.items():
        for row in rows_of(folder / "causes.tsv"):
            counted[suite, row["reason"]] += len(row["tests"].split())
    in_order = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    causes = [(count, *map(in_a_cell, words)) for words, count in in_order]
    return {
        "figures of client suites": table(f" | {' | '.join(SUITES)}", ((name, *(of[name] for of in figures)) for name in figures[0])),
        "causes of client suites": table("tests | suite | reason", causes),
    }


def in_a_row(names: Iterable[str]) -> str:
    """Return entry points in a sentence."""
    return ", ".join(name.removeprefix("aclnn") for name in names) + "."


def in_a_cell(text: str) -> str:
    """Return the text as a cell of a table shows it."""
    return re.sub(r"([|<>*_\[\]`\\])", r"\\\1", text)


def lists() -> dict[str, list[str]]:
    """Return the lines of each list of the page."""
    known, named, documented = entry_points(), named_operators(), rows_of(DOCUMENTED)
    implemented = [entry_point for entry_point in known if not entry_point.refused]
    of_families = [line for family, found in families(implemented).items() for line in family_table(family, found)]
    refused = [entry_point.name for entry_point in known if entry_point.refused and entry_point.family == "runtime"]
    return {
        "sets of data types": table("name | data types", ((name, ", ".join(parts)) for name, parts in SETS.items())),
        "entry points": [f"{len(implemented)} in all.", *of_families],
        **lists_of_vocabulary(known),
        "operators by name": [f"{len(named)} in all: " + ", ".join(f"`{name}`" for name in named) + "."],
        "refused operations": table("operation | why", ((row["operation"], row["why"]) for row in absent_operations())),
        "figures of documented APIs": table(" | ".join(documented[0]), (row.values() for row in documented)),
        **lists_of_client_suites(),
        "refused functions": [", ".join(f"`{name}`" for name in refused) + "."],
    }


def tables_of_error_codes() -> list[str]:
    """Return a section with a table for each layer of the engine."""
    lines = []
    for layer in ("runtime", "operators", "collectives"):
        codes = ((code.number, f"`{code.name}`", code.reason, code.surface) for code in error_codes() if code.layer == layer)
        lines += ["", f"## The {layer}", "", *table("code | name | when the engine returns it | where it surfaces", codes)]
    return lines


def table_of_products() -> list[str]:
    """Return for each operator and product the first CANN whose page lists the data types."""
    products = ("inference", "A2", "A3")
    listed = ((operator.name, row) for operator in OPERATORS for row in operator.listed)
    rows = ((name, ", ".join(row.dtypes), *(row.since.get(product, "") for product in products)) for name, row in listed)
    return table(f"operator | data types | {' | '.join(products)}", rows)


OF_PAGES: dict[str, Callable[[], dict[str, list[str]]]] = {
    "coverage": lists,
    "error_codes": lambda: {"error codes": tables_of_error_codes()},
    "operators/README": lambda: {"products": table_of_products()},
}


def filled(name: str, page: str) -> str:
    """Return a page with its lists."""
    made = OF_PAGES[name]()
    return re.sub("<!-- list: (.*) -->", lambda mark: "\n".join(made[mark[1]]), page)


def _read(app: "Sphinx", name: str, content: list[str]) -> None:
    if name in OF_PAGES:
        content[0] = filled(name, content[0])


def setup(app: "Sphinx") -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
