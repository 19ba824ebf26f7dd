"""The cases of all operators."""

from benchmarks.case import Case
from benchmarks.operators import MODULES

CASES: tuple[Case, ...] = tuple(case for module in MODULES.values() for case in module.CASES)
