"""Write the table of docs/versions.md from docs/versions.tsv, which has a row for each run of `nox`.

python docs/generate_versions.py          # writes the table
python docs/generate_versions.py --check  # fails if it is out of date
"""

import argparse
import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
DOCUMENT = DOCS / "versions.md"
RUNS = DOCS / "versions.tsv"
BEGIN, END = "<!-- the table of docs/generate_versions.py -->\n", "<!-- its end -->\n"


def numbers(release: str) -> list[int]:
    """Return what a release sorts by."""
    return [int(part) for part in release.replace("post", "").split(".") if part.isdigit()]


def minor(release: str) -> str:
    """Return the minor version of a release."""
    return ".".join(release.split(".")[:2])


def kind(run: Mapping[str, Any]) -> tuple[list[int], str, list[int], str, str]:
    """Return what a run is of, which is also its place in the table: it replaces an earlier one of the same kind."""
    return numbers(run["torch_npu"]), run["torch_npu"], numbers(minor(run["python"])), run["machine"], run["run"]


def read_runs() -> list[dict[str, str]]:
    """Return the runs, the oldest versions first."""
    with RUNS.open(newline="") as file:
        return list(csv.DictReader(file, dialect="excel-tab"))


def write_run(run: Mapping[str, Any]) -> None:
    """Write a run's row."""
    rows = [*(other for other in read_runs() if kind(other) != kind(run)), run]
    fields = RUNS.read_text().partition("\n")[0].split("\t")
    with RUNS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, dialect="excel-tab", lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=kind))


def table(runs: Iterable[Mapping[str, str]]) -> str:
    """Return a row for each minor version: what was run with which releases, and how many tests failed."""
    found: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        failed = f" ({run['failed']} failed)" if run["failed"] != "0" else ""
        cells = found.setdefault(minor(run["torch_npu"]), {"full": [], "smoke": [], "python": []})
        cells[run["run"]].append(run["torch_npu"] + failed)
        cells["python"].append(minor(run["python"]))
    lines = ["| torch_npu | all tests | smoke run | Python |", "|---|---|---|---|"]
    for version, cells in found.items():
        lines.append("| " + " | ".join([version, *(", ".join(dict.fromkeys(texts)) for texts in cells.values())]) + " |")
    return "\n".join(lines) + "\n"


def shortcomings(runs: Iterable[Mapping[str, str]]) -> str:
    """Return what torch or torch_npu cannot do in some versions."""
    versions: dict[str, dict[str, list[int]]] = {}
    for run in runs:
        version = minor(run["torch_npu"])
        for text in filter(None, run["shortcomings"].split("; ")):
            versions.setdefault(text, {})[version] = numbers(version)
    texts: dict[str, list[str]] = {}
    for text in sorted(versions, key=lambda text: (list(versions[text].values()), text)):
        texts.setdefault(", ".join(versions[text]), []).append(text)
    lines = [f"- {head}: {'; '.join(names)}\n" for head, names in texts.items()]
    return "".join(["\nTests are skipped for what some versions of torch and torch_npu cannot do themselves:\n\n", *lines])


def main() -> None:
    """Write or check the table."""
    parser = argparse.ArgumentParser(None, None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if the table is out of date")
    options = parser.parse_args()
    runs = read_runs()
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    new = before + BEGIN + table(runs) + shortcomings(runs) + END + rest.partition(END)[2]
    if options.check and new != text:
        raise SystemExit("docs/versions.md is out of date: run python docs/generate_versions.py")
    if not options.check:
        DOCUMENT.write_text(new)


if __name__ == "__main__":
    main()
