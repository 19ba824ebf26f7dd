"""Where a gradient's elements lie, and what the meta kernels say of it."""

import torch_aclnn  # noqa: F401
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses import FakeTensorMode
from torch.utils._pytree import tree_map_only
from torch_aclnn._operators import OPERATORS

from support import layouts
from support.marks import host_engine_only, of_a2_and_a3
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


def attempt(op, arguments):
    """Return what describes the result, or the error's type."""
    try:
        result = op(*arguments)
        if result.device.type == "npu" and not isinstance(result, torch._subclasses.FakeTensor):
            torch.npu.synchronize()
    except Exception as error:
        return type(error)
    # The strides of a tensor without elements mean nothing, and torch's own fake tensors do not keep them.
    return result.shape, result.stride() if result.numel() else None, result.dtype, result.device


@host_engine_only
@pytest.mark.parametrize("operator", [row.operator for row in ROWS.values()], ids=lambda operator: operator.name)
@of_a2_and_a3
def test_meta_kernels_agree_with_the_real_ones(device, operator):
    outcomes = set()

    @settings(max_examples=80, derandomize=True)
    @given(arguments=st.composite(operator.draw_arguments)())
    def agree(arguments):
        arguments = tree_map_only(torch.Tensor, lambda t: t.to(device), arguments)
        real = attempt(operator.op, arguments)
        with FakeTensorMode() as mode:
            fake = attempt(operator.op, tree_map_only(torch.Tensor, mode.from_tensor, arguments))
        assert fake == real
        outcomes.add(isinstance(real, tuple))

    agree()
    assert outcomes == {True, False}  # both results and errors were compared
