"""Write the table of docs/versions.md from the records in docs/versions/, which `nox` makes.

python docs/generate_versions.py          # writes the table
python docs/generate_versions.py --check  # fails if it is out of date
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
DOCUMENT = DOCS / "versions.md"
RECORDS = DOCS / "versions"
BEGIN, END = "<!-- the table of docs/generate_versions.py -->\n", "<!-- its end -->\n"


def numbers(release: str) -> list[int]:
    """Return what a release sorts by."""
    return [int(part) for part in release.replace("post", "").split(".") if part.isdigit()]


def read_records() -> list[dict[str, Any]]:
    """Return the records, the oldest versions first."""
    records = [json.loads(path.read_text()) for path in RECORDS.glob("*.json")]
    return sorted(records, key=lambda r: (numbers(r["torch_npu"]), numbers(r["python"]), r["machine"]))


def table(records: Iterable[dict[str, Any]]) -> str:
    """Return a row for each run."""
    heads = ["torch_npu", "torch", "Python", "machine", "tests passed", "skipped", "failed", "digits", "entry points named", "answered"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for record in records:
        tests, points = record["tests"], record["entry_points"]
        cells = [record["torch_npu"], record["torch"], record["python"], record["machine"]]
        cells += [tests["passed"], tests["skipped"], len(tests["failed"]), "fails" if record["digits"] is None else f"{record['digits']} %"]
        cells += [points["named"], points["named"] - len(points["missing"])]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def failures(records: Iterable[dict[str, Any]]) -> str:
    """Return the tests that failed, for each run that has any."""
    return _lists("What failed:", ((_run(record), [f"`{name}`" for name in record["tests"]["failed"]]) for record in records))


def shortcomings(records: Iterable[dict[str, Any]]) -> str:
    """Return what torch or torch_npu cannot do in some versions."""
    versions: dict[str, list[str]] = {}
    for record in records:
        minor = ".".join(record["torch_npu"].split(".")[:2])
        for text in record["tests"]["shortcomings"]:
            found = versions.setdefault(text, [])
            found += [minor] if minor not in found else []
    texts: dict[str, list[str]] = {}
    for text in sorted(versions, key=lambda text: ([numbers(minor) for minor in versions[text]], text)):
        texts.setdefault(", ".join(versions[text]), []).append(text)
    return _lists("What some versions of torch and torch_npu themselves cannot do, so that tests are skipped with them:", texts.items())


def _run(record: dict[str, Any]) -> str:
    return f"torch_npu {record['torch_npu']}, Python {record['python']}"


def _lists(title: str, items: Iterable[tuple[str, list[str]]]) -> str:
    lines = [f"- {head}: {'; '.join(names)}" for head, names in items if names]
    return f"\n{title}\n\n" + "\n".join(lines) + "\n" if lines else ""


def main() -> None:
    """Write or check the table."""
    parser = argparse.ArgumentParser(None, None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if the table is out of date")
    options = parser.parse_args()
    records = read_records()
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    new = before + BEGIN + table(records) + failures(records) + shortcomings(records) + END + rest.partition(END)[2]
    if options.check and new != text:
        raise SystemExit("docs/versions.md is out of date: run python docs/generate_versions.py")
    if not options.check:
        DOCUMENT.write_text(new)


if __name__ == "__main__":
    main()
