"""The tables of docs/evidence.md."""

import re
from pathlib import Path

ENTRY_POINTS, OTHERS, TORCH_NPU, ATEN = SECTIONS = ("Entry points", "The rest of CANN's interface", "torch_npu", "ATen on npu")
_PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"


def rows(section: str) -> list[list[str]]:
    """Return the cells of a section's table, without its head: names, property, source, tests, and of torch_npu's what exports them."""
    text = _PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]


def named(section: str) -> set[str]:
    return {name for row in rows(section) for name in re.findall(r"`([^`]+)`", row[0])}
