"""The examples in the docstrings print what they say."""

import doctest
import importlib
from pathlib import Path

import torch_aclnn
import pytest
import torch

MODULES = [
    "torch_aclnn",
    *(f"torch_aclnn.{name}" for name in ("functional", "nn", "patching", "host.calls", "host.engine", "host.paths", "host.registry")),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module, extraglobs={"torch": torch, "torch_aclnn": torch_aclnn})
    assert tried > 0 and failed == 0


def test_no_example_is_left_out():
    finder = doctest.DocTestFinder()
    tried = sum(len(found.examples) for name in MODULES for found in finder.find(importlib.import_module(name)))
    sources = Path(torch_aclnn.__file__).parent.rglob("*.py")
    assert tried == sum(line.strip().startswith(">>> ") for path in sources for line in path.read_text().splitlines())
