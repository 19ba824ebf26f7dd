"""The examples in the docstrings print what they say."""

import doctest
import importlib

import torch_aclnn
import pytest
import torch

NAMES = ("functional", "nn", "patching", "conversion", "host.calls", "host.engine", "host.paths")
MODULES = ["torch_aclnn", *(f"torch_aclnn.{name}" for name in NAMES)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module, extraglobs={"torch": torch, "torch_aclnn": torch_aclnn})
    assert tried > 0 and failed == 0
