"""Edge replication: the gradient against the definition, through aclnnReplicationPad2dBackward and the same kernels on cpu."""

import torch_aclnn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import layouts
from support.comparison import assert_rounded_once
from support.operators.replication_pad2d import tensor_gradient

op = torch.ops.torch_aclnn.replication_pad2d_backward

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.complex128)
#        input size      left, right, top, bottom
CASES = [
    ((1, 1, 5), (1, 1, 0, 0)),
    ((2, 3, 7, 6), (1, 2, 3, 0)),
    ((1, 2, 3, 3), (4, 4, 4, 4)),  # wider than the input
    ((2, 3, 9, 8), (-1, 2, -3, 1)),
    ((2, 1, 9, 8), (-2, -3, -4, -1)),
    ((3, 1, 1), (2, 2, 1, 1)),
    ((2, 3, 4, 4), (0, 0, 0, 0)),
]


def padded(size, padding) -> tuple[int, ...]:
    left, right, top, bottom = padding
    return (*size[:-2], size[-2] + top + bottom, size[-1] + left + right)


@layouts.in_every_layout(CASES, FLOATS)
def test_gradient_is_the_definition_rounded_once(device, dtype, case, layout):
    size, padding = case
    grad_output = layout(torch.randn(padded(size, padding), dtype=dtype))
    grad_input = op(grad_output.to(device), size, padding)
    exact = tensor_gradient(grad_output, size, padding)
    assert grad_input.dtype == dtype and grad_input.device.type == device
    if dtype.is_complex:
        torch.testing.assert_close(grad_input.cpu(), exact.to(dtype), rtol=1e-5, atol=1e-5)
    else:
        assert_rounded_once(grad_input, exact)


def test_worked_example(device):
    assert op(torch.ones(1, 1, 7, device=device), (1, 1, 5), (1, 1, 0, 0)).flatten().tolist() == [2, 1, 1, 1, 2]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_legal_padding_matches_the_definition(data):
    size = (1, 2, data.draw(st.integers(1, 8)), data.draw(st.integers(1, 8)))
    left, top = data.draw(st.integers(1 - size[3], 5)), data.draw(st.integers(1 - size[2], 5))
    right, bottom = data.draw(st.integers(1 - size[3] - left, 5)), data.draw(st.integers(1 - size[2] - top, 5))
    padding = (left, right, top, bottom)
    grad_output = torch.randn(padded(size, padding))
    exact, scale = (tensor_gradient(g, size, padding) for g in (grad_output, grad_output.abs()))
    for device in ("cpu", "npu"):
        assert_rounded_once(op(grad_output.to(device), size, padding), exact, scale.max())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x: f(3, 2), TypeError, "replication_pad2d: input: expected a Tensor, got int"),
        (lambda f, x: f(x[0, 0], 2), ValueError, "replication_pad2d: input: expected 3 or 4 dimensions"),
        (lambda f, x: f(x, (1, 2)), ValueError, "replication_pad2d: padding: expected one integer or 4"),
        (lambda f, x: f(x, 0.5), TypeError, "replication_pad2d: padding: expected integers"),
        (lambda f, x: f(x, 2**63 - 1), ValueError, "replication_pad2d: padding: expected values of at most"),
        (lambda f, x: f(x, (2**62, 2**62, 0, 0)), ValueError, "replication_pad2d: padding: expected values of at most"),
        (lambda f, x: f(x, (0, 2**60, 0, 0)), ValueError, "replication_pad2d: padding: expected a result of at most"),
        (lambda f, x: f(x, -2), ValueError, "replication_pad2d: padding: expected a padded size of at least 1"),
    ],
)
def test_bad_arguments_are_refused_by_name(device, call, error, words):
    with pytest.raises(error, match=words):
        call(torch_aclnn.functional.replication_pad2d, torch.zeros(1, 1, 4, 4, device=device))


@pytest.mark.parametrize(
    ("size", "padding"),
    [((1, 1, 5, 4), (1, 1, 1, 1)), ((1, 2, 4, 4), (1, 1, 1, 1)), ((1, 1, 4, 4), (2, 1, 1, 1)), ((4, 4), (1, 1, 1, 1))],
)
def test_the_operator_refuses_sizes_that_do_not_fit(device, size, padding):
    with pytest.raises(RuntimeError, match="expected"):
        op(torch.ones(1, 1, 6, 6, device=device), size, padding)
