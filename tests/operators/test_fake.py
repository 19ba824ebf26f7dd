"""The meta kernels against the real ones: same sizes, strides, dtype and device, and an error where the others raise one."""

import torch_aclnn  # noqa: F401
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses import FakeTensorMode
from torch.utils._pytree import tree_map_only

from support.marks import host_engine_only, of_a2_and_a3
from support.operators import ROWS


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
