"""Write which functions each release of torch_npu exports, and in two documents what follows from it.

python docs/generate_wheels.py                                 # writes the column of docs/evidence.tsv and the table of both ascend.md
python docs/generate_wheels.py --check                         # fails if they are out of date
python docs/generate_wheels.py --wheels DIRECTORY              # before, marks in docs/torch_npu_symbols.tsv what the wheels export

A release is a column of docs/torch_npu_symbols.tsv, with the CANN that torch_npu names for it: in parentheses if it is only that of other
releases from the same branch, - if it names none. A function is a row. For a new column or row, write its head and run this with wheels.
"""

import argparse
import csv
import itertools
import subprocess
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parent
TABLE = DOCS / "torch_npu_symbols.tsv"
RUNS = DOCS / "versions.tsv"
EVIDENCE = DOCS / "evidence.tsv"
PAGES = {DOCS / "ascend.md": "not named", DOCS / "zh-CN" / "ascend.md": "未注明"}
BEGIN, END = "<!-- the table of docs/generate_wheels.py -->\n", "<!-- its end -->\n"


class Function(NamedTuple):
    """A function, and the releases that export it."""

    name: str
    symbol: str
    releases: Collection[str]


def read_table() -> tuple[dict[str, str], list[Function]]:
    """Return the CANN of each release, the oldest release first, and the functions."""
    with TABLE.open(newline="") as file:
        (_, _, *releases), (_, _, *cann), *rows = csv.reader(file, dialect="excel-tab")
    exported = [[release for release, mark in zip(releases, marks, strict=False) if mark == "x"] for _, _, *marks in rows]
    return dict(zip(releases, cann, strict=True)), [Function(*row[:2], found) for row, found in zip(rows, exported, strict=True)]


def write_table(cann: Mapping[str, str], functions: Iterable[Function]) -> None:
    """Write the table."""
    rows = [["name", "symbol", *cann], ["CANN", "", *cann.values()]]
    for name, symbol, exporting in functions:
        rows.append([name, symbol, *("x" if release in exporting else "-" for release in cann)])
    with TABLE.open("w", newline="") as file:
        csv.writer(file, dialect="excel-tab", lineterminator="\n").writerows(rows)


def wheel_of(release: str, directory: Path) -> Path:
    """Return the wheel of a release."""
    pattern = f"torch_npu-{release}-cp311-*_x86_64.whl"
    wheel = next(directory.glob(pattern), None)
    if wheel is None:
        raise SystemExit(f"{directory} has no {pattern}")
    return wheel


def symbols_of(wheel: Path) -> set[str]:
    """Return the symbols that the libraries of a wheel export."""
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as directory:
        names = [name for name in archive.namelist() if name.startswith("torch_npu/lib/") and name.endswith(".so")]
        libraries = [archive.extract(name, directory) for name in names]
        command = ["nm", "--dynamic", "--defined-only", "--format=posix", *libraries]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split(" ")[0].split("@")[0] for line in lines}


def ranges(some: Collection[str], releases: Iterable[str]) -> str:
    """Return some of the releases as ranges in the order of all."""
    groups = [(exported, list(group)) for exported, group in itertools.groupby(releases, lambda release: release in some)]
    if len(groups) == 1:
        return "all" if some else "none"
    texts = [group[0] if len(group) == 1 else f"{group[0]} to {group[-1]}" for exported, group in groups if exported]
    if groups[-1][0]:
        texts[-1] = f"{groups[-1][1][0]} on"
    return ", ".join(texts)


def by_name(functions: Iterable[Function]) -> dict[str, set[str]]:
    """Return the releases that export all functions of a name."""
    exported: dict[str, set[str]] = {}
    for function in functions:
        exported[function.name] = exported.get(function.name, set(function.releases)) & set(function.releases)
    return exported


def exported_by(cell: str, exported: Mapping[str, set[str]], releases: Collection[str]) -> str:
    """Return which releases export the functions that a cell of docs/evidence.tsv names."""
    names: dict[str, list[str]] = {}
    for name in cell.split(", "):
        names.setdefault(ranges(exported[name.strip("`")], releases), []).append(name)
    return next(iter(names)) if len(names) == 1 else "; ".join(f"{', '.join(named)}: {text}" for text, named in names.items())


def evidence(cann: Mapping[str, str], exported: Mapping[str, set[str]]) -> str:
    """Return docs/evidence.tsv, whose last column has what exports the functions of torch_npu."""
    rows = [line.split("\t") for line in EVIDENCE.read_text().splitlines()]
    for cells in rows:
        cells[-1] = exported_by(cells[1], exported, cann) if cells[0] == "torch_npu" else cells[-1]
    return "".join("\t".join(cells) + "\n" for cells in rows)


def ascend(page: Path, unnamed: str, cann: Mapping[str, str]) -> str:
    """Return docs/ascend.md, or the page in Chinese, with a row for the releases of each CANN."""
    with RUNS.open(newline="") as file:
        run = {row["torch_npu"] for row in csv.DictReader(file, dialect="excel-tab")}
    rows: dict[str, list[str]] = {}
    for release, named in cann.items():
        text = f"**{release}**" if release in run else release
        rows.setdefault(unnamed if named == "-" else named.strip("()"), []).append(f"({text})" if named.startswith("(") else text)
    lines = [f"| {version} | {', '.join(releases)} |\n" for version, releases in sorted(rows.items())]
    before, _, rest = page.read_text().partition(BEGIN)
    return "".join([before, BEGIN, "| CANN | torch_npu |\n|---|---|\n", *lines, END, rest.partition(END)[2]])


def main() -> None:
    """Write or check the documents, from the table or from wheels."""
    parser = argparse.ArgumentParser(None, None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a document is out of date")
    parser.add_argument("--wheels", type=Path, metavar="DIRECTORY", help="read the wheels of all releases")
    options = parser.parse_args()
    cann, functions = read_table()
    if options.wheels:
        found = {release: symbols_of(wheel_of(release, options.wheels)) for release in cann}
        functions = [Function(name, symbol, [release for release in cann if symbol in found[release]]) for name, symbol, _ in functions]
        write_table(cann, functions)
    exported = by_name(functions)
    for document, text in ((EVIDENCE, evidence(cann, exported)), *((page, ascend(page, name, cann)) for page, name in PAGES.items())):
        if options.check and text != document.read_text():
            raise SystemExit(f"docs/{document.name} is out of date: run python docs/generate_wheels.py")
        if not options.check:
            document.write_text(text)


if __name__ == "__main__":
    main()
