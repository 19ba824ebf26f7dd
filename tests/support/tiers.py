"""What a run of the tests leaves out unless it is asked for.

The default run takes minutes: every operator, every refusal, every face of the package. `pytest --full` takes all but what is exhaustive.
A test belongs to the first tier that it fits:

- ``exhaustive``: takes minutes by itself, by its mark; only `-m exhaustive` takes it.
- ``slow``: takes many seconds, by its mark.
- ``opinfo``: PyTorch's own tests, by what their modules import.
- ``process``: in a module that imports what starts processes, all but the first test, and the first case of each test that
  docs/reliability.md names as the one that keeps a promise.
- ``large``: on tensors beyond the last cache, by the mark of the generator.
- ``every``: generated for each entry point, beyond one of each kind, by the mark of the generator.
"""

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

TIERS = {
    "slow": "takes many seconds",
    "opinfo": "PyTorch's own tests of functions and modules",
    "process": "starts processes, and is neither the first test of its module nor one that keeps a promise",
    "large": "computes with tensors beyond the last cache",
    "every": "generated for each entry point, beyond one of each kind",
}
_ROOT = Path(__file__).parents[2]
_IMPORTED = {
    "opinfo": {"opinfo"},
    "process": {
        "multiprocessing",
        "subprocess",
        "support.new_processes",
        "support.rank_calls",
        "support.ranks",
        "support.sanitized",
        "support.subprocesses",
        "torch.multiprocessing",
    },
}


def named_tests(page: str) -> dict[str, set[str]]:
    """Return the test functions that a file of docs/ names, by file."""
    named: dict[str, set[str]] = {}
    for file, function in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (_ROOT / "docs" / page).read_text()):
        named.setdefault(file, set()).add(function)
    return named


def left_out(items: Iterable[pytest.Item]) -> Iterator[tuple[pytest.Item, str]]:
    """Yield the tests that a default run leaves out, each with its tier."""
    promised = named_tests("reliability.md")
    seen: set[tuple[str, str]] = set()
    files: set[str] = set()
    for item in items:
        file = item.path.relative_to(_ROOT).as_posix() if item.path.is_relative_to(_ROOT) else str(item.path)
        function = getattr(item, "originalname", item.name)
        marked = next((tier for tier in TIERS if item.get_closest_marker(tier)), None)
        first_of_file, first_case = file not in files, (file, function) not in seen
        if marked is None:
            marked = next((tier for tier, names in _IMPORTED.items() if names & _imports(item.path)), None)
            if marked == "process" and (first_of_file or (first_case and function in promised.get(file, ()))):
                marked = None
            files.add(file)
            seen.add((file, function))
        if marked is not None:
            yield item, marked


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, node.module.split(".")[0], *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


@functools.cache
def shares_fixtures(file: str) -> bool:
    """Return whether a file has a fixture that its tests share; then one process runs them all."""
    return 'scope="module"' in (_ROOT / file).read_text()
