"""Write docs/coverage.md, what the host engine implements and what it refuses, as the built engine lists it.

python docs/generate_coverage.py          # writes the file
python docs/generate_coverage.py --check  # fails if it is out of date
"""

import argparse
import csv
import ctypes
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import torch_aclnn  # noqa: F401  # loads the engine's libraries
from torch_aclnn.host.registry import EntryPoint, entry_points, host_runtime, named_operators

ROOT = Path(__file__).resolve().parent.parent
ABSENT = ROOT / "docs" / "absent_operations.tsv"
VOCABULARY = ROOT / "docs" / "vocabulary.tsv"
OUTPUT = ROOT / "docs" / "coverage.md"
OP_PLUGIN = ROOT / "tests" / "op_plugin"

# The numbers of aclDataType, in the order of the document.
TYPES = {
    "FLOAT": 0,
    "FLOAT16": 1,
    "BF16": 27,
    "DOUBLE": 11,
    "INT4": 29,
    "INT8": 2,
    "UINT8": 4,
    "INT16": 6,
    "INT32": 3,
    "INT64": 9,
    "BOOL": 12,
    "COMPLEX64": 16,
    "COMPLEX128": 17,
    "UINT16": 7,
    "UINT32": 8,
    "UINT64": 10,
    "HIFLOAT8": 34,
    "FLOAT8_E5M2": 35,
    "FLOAT8_E4M3FN": 36,
    "FLOAT8_E8M0": 37,
    "FLOAT6_E3M2": 38,
    "FLOAT6_E2M3": 39,
    "FLOAT4_E2M1": 40,
    "FLOAT4_E1M2": 41,
}
# Abbreviations in the document and their data types; a larger set comes after those that it has.
SETS = {
    "FLOATING": ("FLOAT", "FLOAT16", "BF16"),
    "INTEGRAL": ("INT8", "UINT8", "INT16", "INT32", "INT64"),
    "REAL": ("FLOATING", "DOUBLE", "INTEGRAL"),
    "COMPLEX": ("COMPLEX64", "COMPLEX128"),
    "NUMBERS": ("REAL", "BOOL", "COMPLEX"),
    "ANY": ("NUMBERS", "UINT16", "UINT32", "UINT64"),
}

HEADER = """# Coverage of the host engine

Written by `docs/generate_coverage.py` from the engine's own list (`torchAclnnHostEntryPoints()`); do not edit.

An entry point is here if `libopapi.so` or `libaclnn_math.so` exports both of its phases. `docs/vocabulary.tsv` has the names that are
published or that torch_npu looks up; [those that are not here](#entry-points-that-are-not-here) are refused with a reason, or do not
exist, and torch_npu then reports them by name.

The column *data types* has those of the first tensor, or of the members if it is a list. Others are refused in phase 1 with
161002. BF16 counts on A2, A3 and 950 only, and DOUBLE goes with FLOAT if `TORCH_ACLNN_HOST_FLOAT64=1`. The sets are those of the published
documents, and BF16 in addition to FLOAT16 where an old one lacks it; where only torch_npu's list of operations names types, which is
shorter than what works, the set is wider. ANY is used where nothing is published.
"""

MISSING = """
## Entry points that are not here

| | names | computed | refused | missing |
|---|---|---|---|---|"""

REFUSED_ENTRY_POINTS = """
Phase 1 of these fails with 561003 and the reason:

| entry points | the engine has no |
|---|---|"""

ONE_PHASE = """
These are computed, too: functions by themselves, without a phase for the workspace.
"""

MISSING_ENTRY_POINTS = """
These are missing. [A library of yours](missing_entry_point.md) can have one.
"""

NAMED_OPERATORS = """
## Operators by name

What torch_npu has no entry point for, and most of what it does with tensors in private formats, it calls by name
(`aclopCompileAndExecute()`). The engine has the operators below; another one fails at the next synchronisation, with its name. Inputs and
outputs may be in the formats NC1HWC0, NDC1HWC0, FRACTAL_Z, FRACTAL_Z_3D, FRACTAL_NZ and NDHWC, and of any data type that the computation
has in ATen on the CPU; half types are computed in float32 and rounded once.
"""

REFUSED_OPERATIONS = """
## Operations that are refused

For these, torch_npu calls an operator by the name that chips know it by, or an entry point that is not implemented. The call, or the next
synchronisation, raises an error that names it.

| operation | why |
|---|---|"""

OP_PLUGIN_TESTS = """
## op-plugin's own tests

The tests of torch_npu's operators, unchanged, of a checkout of [op-plugin](https://gitcode.com/ascend/op-plugin) that fits the installed
torch_npu:

```bash
python -m tests.op_plugin CHECKOUT
```

`tests/op_plugin/passed.txt` lists the files that pass. A test is skipped by op-plugin itself: for another chip, for several chips, for a
library that is not installed, or always.

| | |
|---|---|"""

OP_PLUGIN_CAUSES = """
Why tests do not pass (`tests/op_plugin/causes.tsv` has a row for each):

| tests | cause | explanation |
|---|---|---|"""

REFUSED_FUNCTIONS = """
## Runtime functions that are refused

These exist, because torch_npu links or calls them, and always refuse:
"""


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


def absent_operations() -> list[dict[str, str]]:
    """Return the torch operations that are refused on purpose: what users call, an example, and why."""
    with ABSENT.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def family_table(family: str, entry_points: list[EntryPoint]) -> list[str]:
    """Return a family's section; entry points with one set of types share a row."""
    rows: dict[str, list[str]] = {}
    for entry_point in entry_points:
        rows.setdefault(type_names(entry_point.data_types), []).append(entry_point.name.removeprefix("aclnn"))
    lines = ["", f"### {family.capitalize()} ({len(entry_points)})", "", "| data types | entry points |", "|---|---|"]
    return lines + [f"| {types} | {', '.join(names)} |" for types, names in sorted(rows.items())]


def vocabulary() -> list[dict[str, str]]:
    """Return the names that are published or that torch_npu looks up, and which of the two they are."""
    with VOCABULARY.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


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


def what_is_not_here(known: Iterable[EntryPoint]) -> list[str]:
    """Return the section on names of the vocabulary that do not compute."""
    whole = functions_of_one_phase(known)
    computed = {entry_point.name for entry_point in known if not entry_point.refused} | set(whole)
    refused = {entry_point.name: entry_point for entry_point in known if entry_point.refused}
    names = {row["entry point"]: row for row in vocabulary()}
    lines = [MISSING]
    for title, column in (("published", "published"), ("looked up by torch_npu 2.13", "torch_npu"), ("either", None)):
        of_row = [name for name, row in names.items() if column is None or row[column] == "yes"]
        numbers = [sum(name in group for name in of_row) for group in (of_row, computed, refused)]
        lines.append(f"| {title} | {' | '.join(map(str, numbers))} | {numbers[0] - numbers[1] - numbers[2]} |")
    reasons: dict[str, list[str]] = {}
    for name in sorted(refused.keys() & names.keys()):
        reasons.setdefault(reason_of(refused[name]), []).append(name.removeprefix("aclnn"))
    lines += [REFUSED_ENTRY_POINTS, *(f"| {', '.join(members)} | {reason} |" for reason, members in sorted(reasons.items()))]
    missing = [name.removeprefix("aclnn") for name in names if name not in computed and name not in refused]
    lines += [ONE_PHASE, ", ".join(name.removeprefix("aclnn") for name in whole) + "."]
    return [*lines, MISSING_ENTRY_POINTS, ", ".join(missing) + "."]


def op_plugin_tests() -> list[str]:
    """Return the section on op-plugin's tests: the figures of the last run of all of them, and each cause with its count."""
    with (OP_PLUGIN / "figures.tsv").open(newline="") as file:
        figures = [f"| {name} | {number} |" for name, number in csv.reader(file, delimiter="\t")]
    with (OP_PLUGIN / "causes.tsv").open(newline="") as file:
        counted = Counter((row["cause"], row["explanation"]) for row in csv.DictReader(file, delimiter="\t"))
    in_order = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    causes = [f"| {count} | {in_a_cell(cause)} | {in_a_cell(explanation)} |" for (cause, explanation), count in in_order]
    return [OP_PLUGIN_TESTS, *figures, OP_PLUGIN_CAUSES, *causes]


def in_a_cell(text: str) -> str:
    """Return the text as a cell of a table shows it."""
    return re.sub(r"([|<>*_\[\]`\\])", r"\\\1", text)


def document() -> str:
    """Return the whole text of docs/coverage.md."""
    known = entry_points()
    implemented = [entry_point for entry_point in known if not entry_point.refused]
    lines = [HEADER, "| name | data types |", "|---|---|"]
    lines += [f"| {name} | {', '.join(parts)} |" for name, parts in SETS.items()]
    lines += ["", "## Entry points", "", f"{len(implemented)} in all."]
    for family, found in families(implemented).items():
        lines += family_table(family, found)
    lines += what_is_not_here(known)
    named = named_operators()
    lines += [NAMED_OPERATORS, f"{len(named)} in all: " + ", ".join(f"`{name}`" for name in named) + "."]
    lines += [REFUSED_OPERATIONS, *(f"| {row['operation']} | {row['why']} |" for row in absent_operations())]
    refused = [entry_point.name for entry_point in known if entry_point.refused and entry_point.family == "runtime"]
    lines += [*op_plugin_tests(), REFUSED_FUNCTIONS, ", ".join(f"`{name}`" for name in refused) + "."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the document, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        OUTPUT.write_text(document())
    elif OUTPUT.read_text() != document():
        raise SystemExit("docs/coverage.md is out of date: run python docs/generate_coverage.py")


if __name__ == "__main__":
    main()
