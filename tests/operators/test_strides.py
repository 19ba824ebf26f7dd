"""Where a gradient's elements lie: on npu as in the gradients of torch_npu's own operators, on cpu as in torch's."""

import torch_aclnn  # noqa: F401
import pytest
import torch
from torch_aclnn._operators import OPERATORS

from support import layouts
from support.operators import ROWS

CASES = [row.operator for row in ROWS.values() if row.operator.strides is not None]
FOLLOWING = [operator for operator in CASES if operator.strides.follows_channels_last]
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}  # the memory format by the number of dimensions


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
@pytest.mark.parametrize("operator", CASES, ids=lambda operator: operator.name)
def test_gradients_on_npu_have_the_strides_of_torch_npu(operator, layout):
    case = operator.strides
    gradient, x = layout(torch.randn(case.grad_size)).npu(), layout(torch.randn(case.size)).npu()
    assert case.ours(gradient, x).stride() == case.theirs(gradient, x).stride()


@pytest.mark.parametrize("operator", FOLLOWING, ids=lambda operator: operator.name)
def test_gradients_on_cpu_follow_channels_last_as_those_of_torch(operator):
    case = operator.strides
    memory_format = CHANNELS_LAST[len(case.size)]
    gradient, x = (torch.randn(size).to(memory_format=memory_format) for size in (case.grad_size, case.size))
    assert case.ours(gradient, x).stride() == case.theirs(gradient, x).stride()
    assert case.ours(gradient, x).is_contiguous(memory_format=memory_format)


def test_each_operator_that_torch_npu_has_too_is_compared():
    assert {operator.name for operator in CASES} == {operator.name for operator in OPERATORS if operator.aten_backward}
