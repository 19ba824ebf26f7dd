"""The cases of each operator: layers of well-known networks, then small, uneven and unusual ones.

Where ATen has no operator for the gradient (`aten_backward` is None), the module also has a function `peer`: it returns another operator of
ATen that computes it, and that operator's arguments for a sample.
"""

import importlib
from types import ModuleType

from torch_aclnn._operators import OPERATORS

from benchmarks.case import Case
from benchmarks.draw import Draw

MODULES: dict[str, ModuleType] = {operator.name: importlib.import_module(f"{__name__}.{operator.name}") for operator in OPERATORS}


def random_cases(count: int, seed: int) -> list[Case]:
    """Draw so many cases, in turns of the operators."""
    modules = list(MODULES.values())
    return [modules[i % len(modules)].random_case(Draw(seed * 1_000_003 + i)) for i in range(count)]
