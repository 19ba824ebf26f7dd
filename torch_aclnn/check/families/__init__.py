"""The specifications of the operators to check, by family."""

import importlib

from torch_aclnn._operators import OPERATORS
from torch_aclnn.check.specification import Specification

SPECIFICATIONS: dict[str, Specification] = {
    operator.name: importlib.import_module(f"{__name__}.{operator.family}").specification(operator) for operator in OPERATORS
}
