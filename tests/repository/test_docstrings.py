"""The examples in the docstrings print what they say."""

import doctest
import importlib
from pathlib import Path

import torch_aclnn
import pytest
import torch

PACKAGE = Path(torch_aclnn.__file__).parent
SOURCES = {path: path.read_text().splitlines() for path in PACKAGE.rglob("*.py")}


def examples(lines: list[str]) -> set[str]:
    return {line.strip()[4:] for line in lines if line.strip().startswith(">>> ")}


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    # The functions and modules are the package's, whose name they have for pickles.
    return next((package for package in ("torch_aclnn.functional", "torch_aclnn.nn") if name.startswith(f"{package}.")), name)


MODULES = sorted({module_of(path) for path, lines in SOURCES.items() if examples(lines)})


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module, extraglobs={"torch": torch, "torch_aclnn": torch_aclnn})
    assert tried > 0 and failed == 0


def test_no_example_is_left_out():
    finder = doctest.DocTestFinder()
    tests = [test for name in MODULES for test in finder.find(importlib.import_module(name))]
    found = {example.source.splitlines()[0] for test in tests for example in test.examples}
    left_out = set().union(*map(examples, SOURCES.values())) - found
    assert [line for line in left_out if "{name}" not in line] == []  # which is that of several functions
