"""What makes the start slow has limits, by count of modules, as tests/repository/test_budgets.py has them for the build and the tests."""

import pytest

from support.marks import host_engine_only
from support.new_processes import output_of

MODULES_AT_START = 45
MODULES_OF_A_COMMAND = 230


@host_engine_only
def test_few_modules_are_imported_at_start():
    code = """
        import sys, torch, torch_npu
        before = set(sys.modules)
        import torch_aclnn
        print(len(set(sys.modules) - before))
    """
    assert int(output_of(code)) <= MODULES_AT_START


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["config", "--bindir"]], ids=" ".join)
def test_a_command_that_needs_no_torch_imports_none(arguments):
    code = f"""
        import contextlib, io, sys, torch_aclnn_command
        sys.argv = ["torch-aclnn", *{arguments!r}]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            torch_aclnn_command.main()
        print("torch" in sys.modules, len(sys.modules))
    """
    imported_torch, modules = output_of(code).split()
    assert imported_torch == "False" and int(modules) <= MODULES_OF_A_COMMAND
