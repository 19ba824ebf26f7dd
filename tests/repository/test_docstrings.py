"""The examples in the docstrings print what they say."""

import doctest
import importlib
from pathlib import Path

import torch_aclnn
import pytest
import torch

PACKAGE = Path(torch_aclnn.__file__).parent
SOURCES = {path: path.read_text().splitlines() for path in PACKAGE.rglob("*.py")}


def count_examples(lines: list[str]) -> int:
    return sum(line.strip().startswith(">>> ") for line in lines)


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    # The functions and modules are the package's, whose name they have for pickles.
    return next((package for package in ("torch_aclnn.functional", "torch_aclnn.nn") if name.startswith(f"{package}.")), name)


MODULES = sorted({module_of(path) for path, lines in SOURCES.items() if count_examples(lines)})


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module, extraglobs={"torch": torch, "torch_aclnn": torch_aclnn})
    assert tried > 0 and failed == 0


def test_no_example_is_left_out():
    finder = doctest.DocTestFinder()
    found = sum(len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert found == sum(count_examples(lines) for lines in SOURCES.values())
