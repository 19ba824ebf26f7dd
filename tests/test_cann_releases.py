"""The operators under each release of CANN that the engine can present, by which torch_npu decides what it calls."""

import pytest
from test_queue_modes import TRAIN
from torch_aclnn._operators import OPERATORS

from support.marks import NOT_OFFERED
from support.subprocesses import output_of, run_python


def test_torch_npu_sees_the_release():
    code = "import torch_aclnn, torch_npu; print(torch_npu.utils.get_cann_version(module='CANN'))"
    assert output_of(code, TORCH_ACLNN_HOST_CANN="9.0.0") == "9.0.0"


def test_another_release_is_refused_with_those_that_there_are():
    done = run_python("import torch_aclnn, torch; torch.ones(1).npu()", TORCH_ACLNN_HOST_CANN="8.4")
    assert 'TORCH_ACLNN_HOST_CANN: expected one of 8.3.RC1, 8.5.0, 9.0.0, 9.1.0, 9.2.0, got "8.4"' in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("release", ["8.3.RC1", "9.0.0", "9.1.0", "9.2.0"])
def test_each_gradient_calls_its_entry_point_and_equals_that_of_the_cpu(release):
    printed = output_of(TRAIN, TORCH_ACLNN_HOST_CANN=release)
    assert [f"'{operator.entry_point}'" in printed for operator in OPERATORS] == [o.name not in NOT_OFFERED for o in OPERATORS]
