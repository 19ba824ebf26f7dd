"""The releases of CANN that the engine can present, by which torch_npu decides what it calls."""

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from support.marks import OTHER_CANNS, PRESENTED_CANN
from support.scripts import DOCS, load
from support.subprocesses import output_of, run_python

PRINT_RELEASE = "import torch_aclnn, torch_npu; print(torch_npu.utils.get_cann_version(module='CANN'))"


def test_torch_npu_sees_the_release():
    assert output_of(PRINT_RELEASE, TORCH_ACLNN_HOST_CANN="9.0.0") == "9.0.0"


def test_without_a_choice_it_is_the_one_that_the_installed_torch_npu_is_for():
    named, _ = load(DOCS / "generate_wheels.py").read_table()
    until = list(named.values())[: list(named).index(version("torch_npu")) + 1]
    assert output_of(PRINT_RELEASE) == PRESENTED_CANN == [cann.strip("()") for cann in until if cann != "-"][-1]


def test_another_release_is_refused_with_those_that_there_are():
    done = run_python("import torch_aclnn, torch; torch.ones(1).npu()", TORCH_ACLNN_HOST_CANN="8.4")
    assert 'TORCH_ACLNN_HOST_CANN: expected one of 8.3.RC1, 8.5.0, 9.0.0, 9.1.0, 9.2.0, got "8.4"' in done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("release", OTHER_CANNS)
def test_the_operators_pass_with_each_other_release(release):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/planes", "tests/operators/test_batch_norm_elemt.py"]
    environment = {**os.environ, "TORCH_ACLNN_HOST_CANN": release}
    done = subprocess.run(command, cwd=DOCS.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
