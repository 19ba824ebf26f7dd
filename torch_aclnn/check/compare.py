"""``torch-aclnn check --compare``: what differs between two reports, such as those of an NPU and of the host engine. No torch is needed."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from torch_aclnn.check.report import FORMAT

_KEY = ("check", "operator", "case", "mode", "dtype", "layout")
_VALUES = ("error_ulp", "torchs_ulp", "difference_ulp", "bytes", "blocks", "detail")


def compare(first: Path, second: Path) -> int:
    """Print what differs; return 1 if a check has another answer in the second report, or is in one only, else 0.

    Raises:
        SystemExit: with 2, if a file is no report.

    """
    reports = _read(first), _read(second)
    sections = {"machine": list(_machine(*reports)), "answers": list(_answers(*reports)), "values": list(_values(*reports))}
    print(f"{first} -> {second}")
    for name, lines in sections.items():
        print(f"\n{name}: {len(lines) or 'nothing'} {'differ' if len(lines) > 1 else 'differs'}")
        for line in lines:
            print(f"  {line}")
    return int(bool(sections["answers"]))


def _read(path: Path) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        _refuse(f"a report that --json wrote, got {path}: {getattr(error, 'strerror', error)}")
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        found = report.get("format") if isinstance(report, dict) else None
        _refuse(f"a report of format {FORMAT}, got {path} with format {found}")
    return report


def _refuse(reason: str) -> NoReturn:
    print(f"torch-aclnn check: --compare: expected {reason}", file=sys.stderr)
    raise SystemExit(2)  # an error of use


def _machine(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    ours, theirs = _flat(first["machine"]), _flat(second["machine"])
    return (f"{name}: {ours.get(name)} -> {theirs.get(name)}" for name in {**ours, **theirs} if ours.get(name) != theirs.get(name))


def _flat(machine: dict[str, Any]) -> dict[str, Any]:
    """Return one dictionary of all values; libraries go by their names, as their folders differ between machines."""
    plain = {name: value for name, value in machine.items() if not isinstance(value, dict)}
    libraries = {Path(path).name: hash[:16] for path, hash in machine.get("libraries", {}).items()}
    return {**plain, **machine.get("switches", {}), **libraries}


def _answers(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    ours, theirs = _by_key(first["checks"], _KEY), _by_key(second["checks"], _KEY)
    for key in (key for key in ours if key in theirs):
        if ours[key]["status"] != theirs[key]["status"]:
            yield f"{_words(key)}: {ours[key]['status']} -> {theirs[key]['status']}"
    for rows, others, name in ((ours, theirs, "first"), (theirs, ours, "second")):
        for check, count in Counter(key[0] for key in rows if key not in others).items():
            yield f"{check}: {count} in the {name} report only"


def _values(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    ours, theirs = _by_key(first["checks"], _KEY), _by_key(second["checks"], _KEY)
    for key in (key for key in ours if key in theirs):
        changed = [name for name in _VALUES if ours[key].get(name) != theirs[key].get(name)]
        if changed:
            yield f"{_words(key)}: " + ", ".join(f"{name} {_number(ours[key][name])} -> {_number(theirs[key][name])}" for name in changed)


def _by_key(rows: Iterable[dict[str, Any]], names: tuple[str, ...]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[name] for name in names): row for row in rows}


def _words(key: tuple[Any, ...]) -> str:
    return " ".join(f"mode {value}" if name == "mode" else str(value) for name, value in zip(_KEY, key, strict=True) if value is not None)


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
