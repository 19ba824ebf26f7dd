"""Adaptive average pooling of volumes: the gradient, through aclnnAdaptiveAvgPool3dBackward and the same kernels on cpu."""

import torch_aclnn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import layouts
from support.comparison import assert_rounded_once
from support.functions import keeps_its_input
from support.operators.adaptive_avg_pool3d import tensor_gradient

op = torch.ops.torch_aclnn.adaptive_avg_pool3d_backward

#        input size        output size
CASES = [
    ((1, 1, 2, 4, 2), (1, 3, 2)),
    ((2, 3, 4, 14, 14), (2, 7, 7)),
    ((2, 3, 7, 17, 13), (3, 5, 4)),
    ((2, 3, 2, 3, 4), (5, 7, 9)),  # more outputs than inputs
    ((4, 8, 2, 7, 7), (1, 1, 1)),
    ((1, 3, 9, 8, 12), (3, 2, 5)),  # planes and rows that are copies of others
    ((1, 5, 6, 3, 4), (2, 1, 3)),
    ((1, 1, 4, 190, 200), (1, 7, 9)),  # of planes beyond what is kept to be copied
    ((3, 4, 6, 5), (3, 6, 5)),
    ((2, 3, 5, 9, 33), (5, 4, 14)),  # planes by themselves
    ((1, 4, 1, 12, 40), (1, 5, 3)),
    ((5, 1, 1, 1), (2, 2, 3)),
]


@layouts.in_every_layout(CASES, [torch.float32, torch.float16, torch.bfloat16])
def test_gradient_is_the_definition_rounded_once(device, dtype, case, layout):
    size, output_size = case
    grad_output = layout(torch.randn((*size[:-3], *output_size), dtype=dtype))
    grad_input = op(grad_output.to(device), size)
    assert grad_input.dtype == dtype and grad_input.device.type == device
    assert_rounded_once(grad_input, tensor_gradient(grad_output, size))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
@pytest.mark.parametrize(
    "case", [((2, 8, 4, 3, 3), (1, 1, 1)), ((2, 8, 4, 3, 1), (2, 3, 1)), ((2, 8, 1, 1, 1), (1, 1, 1)), ((2, 8, 3, 2, 5), (2, 2, 3))]
)
def test_channels_last_into_channels_last_with_single_columns(dtype, case):
    size, output_size = case
    grad_output = torch.randn((*size[:2], *output_size), dtype=dtype)
    expected = op(grad_output, size)
    for strides in ((8, 1, 1, 1, 1), (8, 1, 8, 8, 8)) if output_size == (1, 1, 1) else ((),):
        given_grad = grad_output.contiguous(memory_format=torch.channels_last_3d)
        if strides:
            given_grad = given_grad.as_strided(given_grad.shape, strides)
        out = torch.full(size, float("nan"), dtype=dtype).contiguous(memory_format=torch.channels_last_3d)
        op.out(given_grad, size, out=out)
        assert torch.equal(out, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 6, 9])
@pytest.mark.parametrize(
    "case", [((7, 20, 23), (4, 9, 10)), ((5, 30, 33), (5, 7, 29)), ((9, 16, 21), (4, 16, 21)), ((12, 9, 5), (3, 3, 2))]
)
def test_few_adjacent_channels_have_the_bits_of_planes(dtype, channels, case):
    size, output_size = case
    grad_output = torch.randn((2, channels, *output_size), dtype=dtype)
    out = torch.full((2, channels, *size), float("nan"), dtype=dtype).contiguous(memory_format=torch.channels_last_3d)
    op.out(grad_output.contiguous(memory_format=torch.channels_last_3d), out.shape, out=out)
    assert torch.equal(out, op(grad_output, out.shape))


def test_worked_example(device):
    grad_output = torch.arange(1.0, 7.0, device=device).view(1, 1, 1, 3, 2)
    assert op(grad_output, (1, 1, 2, 4, 2)).flatten().tolist() == 2 * [0.25, 0.5, 1, 1.5, 2, 2.5, 1.25, 1.5]


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(1, 9), min_size=6, max_size=6))
def test_any_pair_of_sizes_matches_the_definition(sizes):
    size = (2, 1, *sizes[:3])
    grad_output = torch.randn(2, 1, *sizes[3:])
    exact, scale = (tensor_gradient(g, size) for g in (grad_output, grad_output.abs()))
    for device in ("cpu", "npu"):
        assert_rounded_once(op(grad_output.to(device), size), exact, scale.max())


def test_same_bits_as_the_operator_of_torch_npu():
    for size, output_size in CASES:
        grad_output = torch.randn((*size[:-3], *output_size)).npu()
        theirs = torch.ops.aten._adaptive_avg_pool3d_backward(grad_output, torch.zeros(size).npu())
        assert torch.equal(op(grad_output, size).cpu(), theirs.cpu())


def test_an_empty_batch_gives_an_empty_gradient(device):
    assert op(torch.empty(0, 3, 2, 2, 2, device=device), (0, 3, 4, 4, 4)).shape == (0, 3, 4, 4, 4)


def test_out_receives_the_result_in_its_own_strides(device):
    grad_output = torch.randn(2, 3, 2, 4, 5, device=device)
    out = layouts.offset_and_gaps(torch.zeros(2, 3, 3, 8, 10, device=device))
    op.out(grad_output, (2, 3, 3, 8, 10), out=out)
    assert torch.equal(out.cpu(), op(grad_output, (2, 3, 3, 8, 10)).cpu())


def test_gradcheck_in_float32(device):
    # The map is linear, so a large step has no truncation error and float32 is exact enough.
    x = torch.randn(1, 2, 3, 5, 4, device=device, requires_grad=True)
    for output_size in ((2, 3, 2), 1, (None, 4, 2), (4, 7, 5)):
        fn = lambda x: torch_aclnn.functional.adaptive_avg_pool3d(x, output_size)  # noqa: B023
        assert torch.autograd.gradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)
        assert torch.autograd.gradgradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)


def test_gradcheck_in_float64_on_cpu():
    x = torch.randn(1, 2, 3, 5, 4, dtype=torch.float64, requires_grad=True)
    fn = lambda x: torch_aclnn.functional.adaptive_avg_pool3d(x, (2, 3, 3))
    assert torch.autograd.gradcheck(fn, x) and torch.autograd.gradgradcheck(fn, x)


def test_the_input_is_not_kept_alive(device):
    x = torch.randn(1, 1, 4, 4, 4, device=device)
    assert not keeps_its_input(lambda x: torch_aclnn.functional.adaptive_avg_pool3d(x, 2), x)


def test_vmap_equals_a_loop(device):
    x = torch.randn(3, 2, 3, 4, 6, device=device)
    fn = lambda x: torch_aclnn.functional.adaptive_avg_pool3d(x, (2, 3, 2))
    assert torch.equal(torch.vmap(fn)(x).cpu(), torch.stack([fn(row) for row in x]).cpu())
    gradient = torch.func.grad(lambda x: fn(x).square().sum())
    torch.testing.assert_close(torch.vmap(gradient)(x).cpu(), torch.stack([gradient(row) for row in x]).cpu())


def test_opcheck(device):
    grad_output = torch.randn(2, 3, 2, 4, 3, device=device)
    torch.library.opcheck(op.default, (grad_output, (2, 3, 3, 8, 6)))
    torch.library.opcheck(op.out, (grad_output, (2, 3, 3, 8, 6)), {"out": torch.empty(2, 3, 3, 8, 6, device=device)})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x: f(None, 2), TypeError, "adaptive_avg_pool3d: input: expected a Tensor, got NoneType"),
        (lambda f, x: f(x[0, 0], 2), ValueError, "adaptive_avg_pool3d: input: expected 4 or 5 dimensions"),
        (lambda f, x: f(x, (1, 2)), ValueError, "adaptive_avg_pool3d: output_size: expected one integer or 3"),
        (lambda f, x: f(x, -1), ValueError, "adaptive_avg_pool3d: output_size: expected values of at least 0"),
        (lambda f, x: f(x, 1.5), TypeError, "adaptive_avg_pool3d: output_size: expected integers"),
    ],
)
def test_bad_arguments_are_refused_by_name(device, call, error, words):
    with pytest.raises(error, match=words):
        call(torch_aclnn.functional.adaptive_avg_pool3d, torch.zeros(1, 1, 4, 4, 4, device=device))


@pytest.mark.parametrize("size", [(2, 1, 4, 4, 4), (1, 2, 4, 4, 4), (4, 4, 4), (1, 4, 4, 4)])
def test_the_operator_refuses_sizes_that_do_not_fit(device, size):
    with pytest.raises(RuntimeError, match="expected"):
        op(torch.ones(1, 1, 2, 2, 2, device=device), size)


def test_a_result_without_elements_is_that_of_torch(device):
    assert torch_aclnn.functional.adaptive_avg_pool3d(torch.ones(2, 3, 4, 4, 4, device=device), (1, 0, 2)).shape == (2, 3, 1, 0, 2)


def test_module_has_the_state_and_repr_of_torch():
    ours, theirs = torch_aclnn.nn.AdaptiveAvgPool3d((3, None, 2)), torch.nn.AdaptiveAvgPool3d((3, None, 2))
    assert repr(ours) == repr(theirs) and ours.state_dict() == theirs.state_dict()
    x = torch.randn(1, 2, 4, 7, 5)
    assert torch.equal(ours(x), theirs(x))
