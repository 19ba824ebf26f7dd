"""The table of operators and what else must name each: the tests' own modules and the public functions."""

from pathlib import Path

import torch_aclnn
import pytest
from torch_aclnn._operators import OPERATORS

from support.operators import MODULES, NAMES

TESTS = Path(__file__).parent


def test_the_tests_have_a_module_for_each_operator():
    assert sorted(NAMES) == sorted(operator.name for operator in OPERATORS)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_the_module_describes_the_operator(operator):
    module = MODULES[NAMES.index(operator.name)]
    assert module.ENTRY_POINT.name == operator.entry_point
    assert module.FUNCTION.name == operator.function
    assert module.OPERATOR.name == operator.name


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_each_operator_has_test_files_of_its_own(operator):
    files = (f"test_{operator.name}.py", f"host/opapi/test_{operator.backward}.py", f"opinfo/operators/{operator.name}.py")
    assert [file for file in files if not (TESTS / file).exists()] == []


def test_the_functions_are_the_public_ones():
    assert sorted(name for operator in OPERATORS for name in operator.functions) == sorted(torch_aclnn.functional.__all__)
