"""torch and what needs it, imported at first use: the C interface is also tested in processes that have no torch."""

import importlib
from typing import Any


class LazyModule:
    """A module that is imported when one of its attributes is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


torch_aclnn = LazyModule("torch_aclnn")
torch = LazyModule("torch")
numpy = LazyModule("numpy")
strategies = LazyModule("hypothesis.strategies")
