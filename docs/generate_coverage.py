"""Write docs/coverage.md, what the host engine implements and what it refuses, from the engine's sources.

python docs/generate_coverage.py          # writes the file
python docs/generate_coverage.py --check  # fails if it is out of date
"""

import argparse
import csv
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = ROOT / "csrc" / "engine"
ABSENT = ROOT / "docs" / "absent_operations.tsv"
OUTPUT = ROOT / "docs" / "coverage.md"

# ATEN_ENTRY(aclnnAdd, NUMBERS, ... or a file's own macro, UNARY(aclnnExp, FLOATING | DOUBLE, ...
ADAPTER = re.compile(r"^[A-Z_0-9]+\((acl[a-zA-Z]\w+),\s*([A-Z_0-9 |]+)[,)]", re.MULTILINE)
# The five operators check each of their tensors; the first check is that of the tensors they compute on.
OPERATOR = re.compile(r"^TORCH_ACLNN_PHASE2\((aclnn\w+)", re.MULTILINE)
CHECK = re.compile(r"require_dtype\(t, (?:with_later\()?([A-Z_0-9 |,]+)\)")
SET = re.compile(r"^constexpr DTypes (\w+) = ([A-Z_0-9 |]+);", re.MULTILINE)
TYPE = re.compile(r"(\w+)\(ACL_\w+\)")
REFUSAL = re.compile(r"^REFUSE\w*\((\w+)", re.MULTILINE)

HEADER = """# Coverage of the host engine

Written by `docs/generate_coverage.py` from the sources; do not edit.

An entry point is here if `libopapi.so` or `libaclnn_math.so` exports both of its phases. One that is not here does not exist, and
torch_npu then reports it by name. The families are the source files.

Beside the entry points stand the data types of the first tensor, or of the members if it is a list. Others are refused in phase 1 with
161002. BF16 counts on A2 products only, and DOUBLE goes with FLOAT if `TORCH_ACLNN_HOST_FLOAT64=1`. The sets are those of the published
documents, with BF16 beside FLOAT16 where an old one has not got it yet; where only torch_npu's list of operations names types, which is
shorter than what works, the set is wider. ANY stands where nothing is published.
"""

REFUSED_OPERATIONS = """
## Operations that are refused

For these, torch_npu calls an operator by the name that chips know it by, or an entry point that is not implemented. The call, or the next
synchronisation, raises an error that names it.

| operation | why |
|---|---|"""

ABOVE_THE_INTERFACE = """
## Differences that torch_npu makes

These come from torch_npu's own code, above the interface, so that no entry point changes them:

- `max_pool1d` and `max_pool2d` return a mask in place of indices: `max_unpool1d` and `max_unpool2d` of it fail in the backward.
- `pack_padded_sequence` leaves the padding in: `nn.RNN` and `nn.GRU` give errors or wrong numbers for packed sequences of several
  lengths, and the sequence that went into a packed `nn.LSTM` gets no gradient.
- `nn.LSTM` and `nn.GRU` in evaluation mode have no backward.
- `.double()` of a tensor on `npu` gives float32; move float64 from the cpu instead. `.to(memory_format=torch.channels_last)` is refused.
- `sparse_mask` drops elements that are zero, so that `torch.optim.SparseAdam` fails with a mismatch of shapes.
- What it has no kernel for runs on the cpu, with a warning: `TORCH_NPU_FALLBACK_CPU_DISABLE=1` makes it an error.
"""

REFUSED_FUNCTIONS = """
## Runtime functions that are refused

These exist, because torch_npu links or calls them, and always refuse:
"""


def types() -> list[str]:
    """Return the names of the single data types."""
    return TYPE.findall((HOST / "opapi" / "dtypes.h").read_text())


def type_sets() -> dict[str, str]:
    """Return the named sets of data types and what they are made of."""
    return dict(SET.findall((HOST / "opapi" / "dtypes.h").read_text()))


def families() -> dict[str, dict[str, str]]:
    """Return the entry points of each source file of the engine with their data types, the five backward operators first."""
    own = {}
    for path in sorted((HOST / "opapi").glob("*.cpp")):
        text = path.read_text()
        own |= {name: CHECK.findall(text)[0].replace(",", " |") for name in OPERATOR.findall(text)}
    on_aten = {path.stem: dict(sorted(ADAPTER.findall(path.read_text()))) for path in sorted((HOST / "aten").glob("*.cpp"))}
    return {"the five operators": own} | {family: names for family, names in on_aten.items() if names}


def absent_operations() -> list[dict[str, str]]:
    """Return the torch operations that are refused on purpose: what users call, an example, and why."""
    with ABSENT.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def family_table(family: str, entry_points: dict[str, str]) -> list[str]:
    """Return a family's section; entry points with one set of types share a row."""
    rows: dict[str, list[str]] = {}
    for name, dtypes in entry_points.items():
        rows.setdefault(dtypes, []).append(name.removeprefix("aclnn"))
    lines = ["", f"### {family.replace('_', ' ').capitalize()} ({len(entry_points)})", "", "| data types | entry points |", "|---|---|"]
    return lines + [f"| {dtypes.replace(' | ', ', ')} | {', '.join(names)} |" for dtypes, names in sorted(rows.items())]


def document() -> str:
    """Return the whole text of docs/coverage.md."""
    found = families()
    refused = sorted({name for path in (HOST / "runtime").rglob("*.cpp") for name in REFUSAL.findall(path.read_text())})
    lines = [HEADER, "| name | data types |", "|---|---|"]
    lines += [f"| {name} | {members.replace(' | ', ', ')} |" for name, members in type_sets().items()]
    lines += ["", "## Entry points", "", f"{sum(map(len, found.values()))} in all."]
    for family, entry_points in found.items():
        lines += family_table(family, entry_points)
    lines += [REFUSED_OPERATIONS, *(f"| {row['operation']} | {row['why']} |" for row in absent_operations())]
    lines += [ABOVE_THE_INTERFACE.rstrip("\n"), REFUSED_FUNCTIONS, ", ".join(f"`{name}`" for name in refused) + "."]
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
