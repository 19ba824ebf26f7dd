"""Write docs/coverage.md, the table of the aclnn entry points that the host engine implements, from the engine's sources.

python docs/generate_coverage.py          # writes the file
python docs/generate_coverage.py --check  # fails if it is out of date
"""

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = ROOT / "csrc" / "host"
OUTPUT = ROOT / "docs" / "coverage.md"

# The first argument of a macro at the start of a line: ATEN_ENTRY(aclnnAdd, ...), UNARY(aclnnExp, ...), TORCH_ACLNN_PHASE2(aclnn...
ENTRY_POINT = re.compile(r"^[A-Z_0-9]+\((aclnn[A-Z]\w+)", re.MULTILINE)
REFUSAL = re.compile(r"^REFUSE\w*\((\w+)", re.MULTILINE)

HEADER = """# Coverage of the host engine

Written by `docs/generate_coverage.py` from the sources; do not edit.

An entry point is here if `libopapi.so` or `libaclnn_math.so` exports both of its phases. One that is not here does not exist, and
torch_npu then reports it by name. The families are the source files.
"""


def families() -> dict[str, list[str]]:
    """Return the entry points of each source file of the engine, the five backward operators first."""
    own = {
        "the five operators": [name for path in sorted((HOST / "opapi").glob("*.cpp")) for name in ENTRY_POINT.findall(path.read_text())]
    }
    on_aten = {path.stem: sorted(ENTRY_POINT.findall(path.read_text())) for path in sorted((HOST / "aten").glob("*.cpp"))}
    return own | {family: names for family, names in on_aten.items() if names}


def table() -> str:
    """Return the whole text of docs/coverage.md."""
    found = families()
    refused = sorted({name for path in (HOST / "runtime").glob("*.cpp") for name in REFUSAL.findall(path.read_text())})
    lines = [HEADER, f"{sum(map(len, found.values()))} entry points.", "", "| family | number | entry points |", "|---|---|---|"]
    for family, names in found.items():
        lines.append(f"| {family.replace('_', ' ')} | {len(names)} | {', '.join(name.removeprefix('aclnn') for name in names)} |")
    lines += ["", "## Refused by name", "", "These runtime functions exist, because torch_npu links or calls them, and always refuse:", ""]
    lines.append(", ".join(f"`{name}`" for name in refused) + ".")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        OUTPUT.write_text(table())
    elif OUTPUT.read_text() != table():
        raise SystemExit("docs/coverage.md is out of date: run python docs/generate_coverage.py")


if __name__ == "__main__":
    main()
