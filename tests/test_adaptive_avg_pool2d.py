"""Adaptive average pooling: the gradient against the definition, through aclnnAdaptiveAvgPool2dBackward and the same kernels on cpu."""

import torch_aclnn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import layouts
from support.comparison import assert_rounded_once
from support.functions import keeps_its_input
from support.operators.adaptive_avg_pool2d import tensor_gradient

op = torch.ops.torch_aclnn.adaptive_avg_pool2d_backward

#        input size        output size
CASES = [
    ((1, 1, 4, 2), (3, 2)),
    ((2, 3, 14, 14), (7, 7)),
    ((2, 3, 17, 13), (5, 4)),
    ((2, 3, 3, 4), (7, 9)),  # more outputs than inputs
    ((4, 8, 7, 7), (1, 1)),
    ((2, 3, 12, 50), (4, 1)),  # rows of a plane that are one long row
    ((2, 3, 15, 100), (7, 1)),  # windows of whole rows, two of which share some
    ((2, 20, 10, 8), (2, 1)),  # planes of fewer elements than a vector has
    ((3, 6, 5), (6, 5)),
    ((5, 1, 1), (2, 3)),
]


@layouts.in_every_layout(CASES, [torch.float32, torch.float16, torch.bfloat16])
def test_gradient_is_the_definition_rounded_once(device, dtype, case, layout):
    size, output_size = case
    grad_output = layout(torch.randn((*size[:-2], *output_size), dtype=dtype))
    grad_input = op(grad_output.to(device), size)
    assert grad_input.dtype == dtype and grad_input.device.type == device
    assert_rounded_once(grad_input, tensor_gradient(grad_output, size))


def test_worked_example(device):
    grad_output = torch.arange(1.0, 7.0, device=device).view(1, 1, 3, 2)
    assert op(grad_output, (1, 1, 4, 2)).flatten().tolist() == [0.5, 1, 2, 3, 4, 5, 2.5, 3]


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(1, 16), min_size=4, max_size=4))
def test_any_pair_of_sizes_matches_the_definition(sizes):
    size = (2, 1, *sizes[:2])
    grad_output = torch.randn(2, 1, *sizes[2:])
    exact, scale = (tensor_gradient(g, size) for g in (grad_output, grad_output.abs()))
    for device in ("cpu", "npu"):
        assert_rounded_once(op(grad_output.to(device), size), exact, scale.max())


def test_same_bits_as_the_operator_of_torch_npu():
    for size, output_size in CASES:
        if output_size == (1, 1):  # torch_npu sends this one to mean
            continue
        grad_output = torch.randn((*size[:-2], *output_size)).npu()
        theirs = torch.ops.aten._adaptive_avg_pool2d_backward(grad_output, torch.zeros(size).npu())
        assert torch.equal(op(grad_output, size).cpu(), theirs.cpu())


def test_an_empty_batch_gives_an_empty_gradient(device):
    assert op(torch.empty(0, 3, 2, 2, device=device), (0, 3, 4, 4)).shape == (0, 3, 4, 4)


def test_out_receives_the_result_in_its_own_strides(device):
    grad_output = torch.randn(2, 3, 4, 5, device=device)
    out = layouts.offset_and_gaps(torch.zeros(2, 3, 8, 10, device=device))
    op.out(grad_output, (2, 3, 8, 10), out=out)
    assert torch.equal(out.cpu(), op(grad_output, (2, 3, 8, 10)).cpu())


def test_gradcheck_in_float32(device):
    # The map is linear, so a large step has no truncation error and float32 is exact enough.
    x = torch.randn(2, 2, 5, 6, device=device, requires_grad=True)
    for output_size in ((3, 2), 1, (None, 4), (7, 8)):
        fn = lambda x: torch_aclnn.functional.adaptive_avg_pool2d(x, output_size)  # noqa: B023
        assert torch.autograd.gradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)
        assert torch.autograd.gradgradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)


def test_gradcheck_in_float64_on_cpu():
    x = torch.randn(2, 2, 5, 6, dtype=torch.float64, requires_grad=True)
    fn = lambda x: torch_aclnn.functional.adaptive_avg_pool2d(x, (3, 4))
    assert torch.autograd.gradcheck(fn, x) and torch.autograd.gradgradcheck(fn, x)


def test_the_input_is_not_kept_alive(device):
    x = torch.randn(1, 1, 4, 4, device=device)
    assert not keeps_its_input(lambda x: torch_aclnn.functional.adaptive_avg_pool2d(x, 2), x)


def test_vmap_equals_a_loop(device):
    x = torch.randn(3, 2, 4, 6, device=device)
    fn = lambda x: torch_aclnn.functional.adaptive_avg_pool2d(x, (3, 2))
    assert torch.equal(torch.vmap(fn)(x).cpu(), torch.stack([fn(row) for row in x]).cpu())
    gradient = torch.func.grad(lambda x: fn(x).square().sum())
    torch.testing.assert_close(torch.vmap(gradient)(x).cpu(), torch.stack([gradient(row) for row in x]).cpu())


def test_opcheck(device):
    grad_output = torch.randn(2, 3, 4, 3, device=device)
    torch.library.opcheck(op.default, (grad_output, (2, 3, 8, 6)))
    torch.library.opcheck(op.out, (grad_output, (2, 3, 8, 6)), {"out": torch.empty(2, 3, 8, 6, device=device)})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x: f(None, 2), TypeError, "adaptive_avg_pool2d: input: expected a Tensor, got NoneType"),
        (lambda f, x: f(x[0, 0], 2), ValueError, "adaptive_avg_pool2d: input: expected 3 or 4 dimensions"),
        (lambda f, x: f(x, (1, 2, 3)), ValueError, "adaptive_avg_pool2d: output_size: expected one integer or 2"),
        (lambda f, x: f(x, -1), ValueError, "adaptive_avg_pool2d: output_size: expected values of at least 0"),
        (lambda f, x: f(x, 1.5), TypeError, "adaptive_avg_pool2d: output_size: expected integers"),
    ],
)
def test_bad_arguments_are_refused_by_name(device, call, error, words):
    with pytest.raises(error, match=words):
        call(torch_aclnn.functional.adaptive_avg_pool2d, torch.zeros(1, 1, 4, 4, device=device))


@pytest.mark.parametrize("size", [(2, 1, 4, 4), (1, 2, 4, 4), (4, 4), (1, 4, 4)])
def test_the_operator_refuses_sizes_that_do_not_fit(device, size):
    with pytest.raises(RuntimeError, match="expected"):
        op(torch.ones(1, 1, 2, 2, device=device), size)


def test_a_result_without_elements_is_that_of_torch(device):
    assert torch_aclnn.functional.adaptive_avg_pool2d(torch.ones(2, 3, 4, 4, device=device), (0, 2)).shape == (2, 3, 0, 2)


def test_module_has_the_state_and_repr_of_torch():
    ours, theirs = torch_aclnn.nn.AdaptiveAvgPool2d((3, None)), torch.nn.AdaptiveAvgPool2d((3, None))
    assert repr(ours) == repr(theirs) and ours.state_dict() == theirs.state_dict()
    x = torch.randn(1, 2, 7, 5)
    assert torch.equal(ours(x), theirs(x))
