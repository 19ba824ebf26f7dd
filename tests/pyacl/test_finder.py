"""The import hook finds the module only while the engine answers."""

import sys
from importlib.machinery import ModuleSpec

import pytest
from torch_aclnn.loading import import_hook
from torch_aclnn.loading.paths import python_packages
from torch_aclnn_import_hook import Finder


class Found:
    """Finds the module at a place, or in a folder without a file of its own."""

    def __init__(self, origin: str | None) -> None:
        self.spec = ModuleSpec("acl", None, origin=origin)

    def find_spec(self, *_: object) -> ModuleSpec:
        return self.spec


@pytest.mark.parametrize(
    ("origin", "answers", "engines"),
    [
        ("/cann/python/site-packages/acl.so", True, True),
        ("/cann/python/site-packages/acl.so", False, False),
        ("/home/me/acl.py", True, False),
        ("/home/me/acl.py", False, False),
        (None, True, True),
        (None, False, False),
    ],
)
def test_the_hook_finds_it_only_while_the_engine_answers(monkeypatch, origin, answers, engines):
    """The module never replaces a program's own, or CANN's where CANN answers."""
    other = Found(origin)
    monkeypatch.setattr(import_hook, "is_active", lambda: answers)
    monkeypatch.setattr(sys, "meta_path", [Finder, other])
    spec = Finder.find_spec("acl")
    assert spec is not None and (spec.origin == str(python_packages() / "acl" / "__init__.py")) is engines
    assert engines or spec is other.spec
