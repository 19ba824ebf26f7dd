"""The table of operators and what else must name each: the tests' own rows."""

import pytest
from torch_aclnn._operators import OPERATORS

from support.operators import ROWS


def test_the_tests_have_a_row_for_each_operator():
    assert sorted(ROWS) == sorted(operator.name for operator in OPERATORS)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_the_row_describes_the_operator(operator):
    row = ROWS[operator.name]
    assert (row.entry_point.name, row.function.name) == (operator.entry_point, operator.function)
