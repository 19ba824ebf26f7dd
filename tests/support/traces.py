"""Reading what TORCH_ACLNN_HOST_TRACE wrote."""

import json
from pathlib import Path
from typing import Any


def lines_of(text: str) -> list[dict[str, Any]]:
    """Return the lines, each of which must be JSON by its standard, which has no NaN."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def read_trace(path: Path) -> list[dict[str, Any]]:
    text = path.read_text()
    assert text.endswith("\n")
    return lines_of(text)


def named(lines: list[dict[str, Any]], name: str, kind: str = "call") -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == kind and line["name"] == name]
