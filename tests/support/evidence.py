"""The rows of docs/evidence.tsv."""

import csv
import re
from pathlib import Path

ENTRY_POINTS, OTHERS, TORCH_NPU, ATEN = SECTIONS = ("Entry points", "The rest of CANN's interface", "torch_npu", "ATen on npu")
_TABLE = Path(__file__).parents[2] / "docs" / "evidence.tsv"


def rows(section: str) -> list[list[str]]:
    """Return the cells of a section: names, property, source and tests."""
    with _TABLE.open(newline="") as file:
        return [cells[1:5] for cells in csv.reader(file, dialect="excel-tab") if cells[0] == section]


def named(section: str) -> set[str]:
    return {name for row in rows(section) for name in re.findall(r"`([^`]+)`", row[0])}
