"""The cases of each family's operators: layers of well-known networks, then small, uneven and unusual ones.

A module has `cases(operator)` and `random_case(operator, draw)`. Where ATen has no operator for the gradient (`aten_backward` is None), it
also has `peer(operator, sample)`, which is made of other operators of ATen.
"""

from types import ModuleType

from torch_aclnn._operators import OPERATORS

from benchmarks.case import Case
from benchmarks.draw import Draw
from benchmarks.families import adaptive, batch_norm, padding, pooling, unpooling

FAMILIES: dict[str, ModuleType] = {
    "average_pooling": pooling,
    "adaptive_average_pooling": adaptive,
    "padding": padding,
    "max_unpooling": unpooling,
    "batch_norm": batch_norm,
}
CASES: tuple[Case, ...] = tuple(case for operator in OPERATORS for case in FAMILIES[operator.family].cases(operator))


def random_cases(count: int, seed: int) -> list[Case]:
    """Draw that many cases, of one operator after the other in turns."""
    operators = [OPERATORS[i % len(OPERATORS)] for i in range(count)]
    return [FAMILIES[operator.family].random_case(operator, Draw(seed * 1_000_003 + i)) for i, operator in enumerate(operators)]
