"""Average pooling: the gradient against the definition, on npu through aclnnAvgPool2dBackward and on cpu through the same kernels."""

import itertools

import torch_aclnn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import layouts
from support.comparison import assert_rounded_once
from support.functions import keeps_its_input
from support.marks import host_engine_only
from support.operators.avg_pool2d import tensor_gradient

op = torch.ops.torch_aclnn.avg_pool2d_backward

HALVES = (torch.float16, torch.bfloat16)
#        input size        kernel  stride  padding ceil  include  divisor
CASES = [
    ((1, 16, 4, 4), (4, 4), (1, 1), (0, 0), False, True, None),
    ((2, 3, 17, 13), (3, 3), (2, 2), (1, 1), False, True, None),
    ((2, 3, 17, 13), (3, 3), (2, 2), (1, 1), True, False, None),
    ((2, 3, 17, 13), (3, 2), (2, 3), (1, 0), True, True, None),
    ((2, 3, 9, 8), (3, 3), (1, 1), (1, 1), False, False, None),
    ((2, 3, 9, 8), (3, 3), (1, 1), (1, 1), False, True, 7),
    ((2, 3, 9, 8), (2, 2), (2, 2), (0, 0), False, True, -3),
    ((1, 5, 8, 8), (2, 2), (3, 3), (0, 0), False, True, None),  # cells that no window holds
    ((3, 14, 14), (7, 7), (7, 7), (0, 0), False, True, None),
    ((2, 3, 13, 60), (3, 60), (4, 60), (0, 0), False, True, None),  # rows of a plane that are one long row, with gaps
    ((2, 3, 13, 60), (3, 60), (2, 60), (1, 0), False, False, None),  # windows of whole rows, of two sizes, two of which share some
    ((2, 20, 10, 8), (3, 3), (3, 3), (0, 0), False, True, None),  # planes of fewer elements than a vector has
    ((5, 1, 1), (1, 1), (1, 1), (0, 0), False, True, None),
]


def pooled(case) -> torch.Size:
    size, kernel, stride, padding, ceil, *_ = case
    return torch.nn.functional.avg_pool2d(torch.zeros(size), kernel, stride, padding, ceil).shape


@layouts.in_every_layout(CASES, [torch.float32, *HALVES])
def test_gradient_is_the_definition_rounded_once(device, dtype, case, layout):
    size, kernel, stride, padding, ceil, include, divisor = case
    grad_output = layout(torch.randn(pooled(case), dtype=dtype))
    grad_input = op(grad_output.to(device), size, kernel, stride, padding, ceil, include, divisor)
    exact = tensor_gradient(grad_output, size, kernel, stride, padding, include, divisor)
    assert grad_input.dtype == dtype and grad_input.device.type == device
    assert_rounded_once(grad_input, exact)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_legal_pooling_matches_the_definition(data):
    kernel = [data.draw(st.integers(1, 6)) for _ in range(2)]
    stride = [data.draw(st.integers(1, 7)) for _ in range(2)]
    padding = [data.draw(st.integers(0, k // 2)) for k in kernel]
    size = [data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))]
    size += [data.draw(st.integers(max(1, k - 2 * p), 15)) for k, p in zip(kernel, padding, strict=True)]
    ceil, include = data.draw(st.booleans()), data.draw(st.booleans())
    divisor = data.draw(st.sampled_from([None, None, 3, -255]))
    grad_output = torch.randn(pooled((size, kernel, stride, padding, ceil)))
    attributes = (size, kernel, stride, padding, include, divisor)
    exact, scale = (tensor_gradient(g, *attributes) for g in (grad_output, grad_output.abs()))
    for device in ("cpu", "npu"):
        grad_input = op(grad_output.to(device), size, kernel, stride, padding, ceil, include, divisor)
        assert_rounded_once(grad_input, exact, scale.abs().max())


def test_same_bits_as_the_operator_of_torch_npu():
    for size, kernel, stride, padding, ceil, include, divisor in CASES:
        grad_output = torch.randn(pooled((size, kernel, stride, padding, ceil))).npu()
        input = torch.zeros(size).npu()
        theirs = torch.ops.aten.avg_pool2d_backward(grad_output, input, kernel, stride, padding, ceil, include, divisor)
        ours = op(grad_output, size, kernel, stride, padding, ceil, include, divisor)
        assert torch.equal(ours.cpu(), theirs.cpu())


@host_engine_only
def test_same_bits_on_cpu_and_npu():
    for size, kernel, stride, padding, ceil, include, divisor in CASES:
        grad_output = torch.randn(pooled((size, kernel, stride, padding, ceil)))
        arguments = (size, kernel, stride, padding, ceil, include, divisor)
        assert torch.equal(op(grad_output, *arguments), op(grad_output.npu(), *arguments).cpu())


def test_an_empty_batch_gives_an_empty_gradient(device):
    assert op(torch.empty(0, 3, 2, 2, device=device), (0, 3, 4, 4), (2, 2)).shape == (0, 3, 4, 4)


def test_out_receives_the_result_in_its_own_strides(device):
    grad_output = torch.randn(2, 3, 4, 5, device=device)
    expected = op(grad_output, (2, 3, 8, 10), (2, 2))
    out = layouts.offset_and_gaps(torch.zeros(2, 3, 8, 10, device=device))
    op.out(grad_output, (2, 3, 8, 10), (2, 2), out=out)
    assert torch.equal(out.cpu(), expected.cpu())


def test_out_is_resized_when_it_is_empty(device):
    out = torch.empty(0, device=device)
    op.out(torch.ones(1, 1, 2, 2, device=device), (1, 1, 4, 4), (2, 2), out=out)
    assert out.shape == (1, 1, 4, 4)


def test_out_that_overlaps_the_input_is_refused(device):
    memory = torch.ones(1, 1, 4, 4, device=device)
    with pytest.raises(RuntimeError, match="memory"):
        op.out(memory, (1, 1, 4, 4), (1, 1), out=memory.transpose(2, 3))


def test_gradcheck_in_float32(device):
    # The map is linear, so a large step has no truncation error and float32 is exact enough.
    x = torch.randn(2, 2, 5, 6, device=device, requires_grad=True)
    for arguments in ((3, 2, 1), (2,), (3, 1, 1, True, False), ((2, 3), (1, 2), 0, False, True, 5)):
        fn = lambda x: torch_aclnn.functional.avg_pool2d(x, *arguments)  # noqa: B023
        assert torch.autograd.gradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)
        assert torch.autograd.gradgradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)


def test_gradcheck_in_float64_on_cpu():
    x = torch.randn(2, 2, 5, 6, dtype=torch.float64, requires_grad=True)
    fn = lambda x: torch_aclnn.functional.avg_pool2d(x, 3, 2, 1, True, False)
    assert torch.autograd.gradcheck(fn, x) and torch.autograd.gradgradcheck(fn, x)


def test_the_input_is_not_kept_alive(device):
    x = torch.randn(1, 1, 4, 4, device=device)
    assert not keeps_its_input(lambda x: torch_aclnn.functional.avg_pool2d(x, 2), x)


def test_vmap_equals_a_loop(device):
    x = torch.randn(3, 2, 4, 6, device=device)
    fn = lambda x: torch_aclnn.functional.avg_pool2d(x, 2)
    assert torch.equal(torch.vmap(fn)(x).cpu(), torch.stack([fn(row) for row in x]).cpu())
    grads = torch.vmap(torch.func.grad(lambda x: fn(x).square().sum()))(x)
    loop = torch.stack([torch.func.grad(lambda x: fn(x).square().sum())(row) for row in x])
    torch.testing.assert_close(grads.cpu(), loop.cpu())


def test_opcheck(device):
    for size, layout in itertools.product(((2, 3, 8, 6), (3, 8, 6)), (layouts.contiguous, layouts.channels_last)):
        grad_output = layout(torch.randn(*size[:-2], 4, 3)).to(device)
        torch.library.opcheck(op.default, (grad_output, size, (2, 2)))
        torch.library.opcheck(op.out, (grad_output, size, (2, 2)), {"out": torch.empty(size, device=device)})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x: f([[1.0]], 2), TypeError, "avg_pool2d: input: expected a Tensor, got list"),
        (lambda f, x: f(x[0, 0], 2), ValueError, "avg_pool2d: input: expected 3 or 4 dimensions"),
        (lambda f, x: f(x, 0), ValueError, "avg_pool2d: kernel_size: expected values of at least 1, got 0"),
        (lambda f, x: f(x, 2.0), TypeError, "avg_pool2d: kernel_size: expected integers, got 2.0"),
        (lambda f, x: f(x, (1, 2, 3)), ValueError, "avg_pool2d: kernel_size: expected one integer or 2"),
        (lambda f, x: f(x, 2, 0), ValueError, "avg_pool2d: stride: expected values of at least 1, got 0"),
        (lambda f, x: f(x, 2, 2, 2), ValueError, "avg_pool2d: padding: expected at most half of kernel_size"),
        (
            lambda f, x: f(x, 2, divisor_override=0),
            ValueError,
            "avg_pool2d: divisor_override: expected None or a 64-bit integer other than 0, got 0",
        ),
        (
            lambda f, x: f(x, 2, divisor_override=2**63),
            ValueError,
            "avg_pool2d: divisor_override: expected None or a 64-bit integer",
        ),
        (lambda f, x: f(x, 2, divisor_override=True), TypeError, "avg_pool2d: divisor_override: expected integers, got True"),
        (lambda f, x: f(x, 2, 2**31), ValueError, "avg_pool2d: stride: expected values of at most 2147483647, got 2147483648"),
    ],
)
def test_bad_arguments_are_refused_by_name(device, call, error, words):
    with pytest.raises(error, match=words):
        call(torch_aclnn.functional.avg_pool2d, torch.zeros(1, 1, 4, 4, device=device))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((1, 1, 9, 4), (2, 2)), "grad_?[oO]utput: expected"),
        (((1, 2, 4, 4), (2, 2)), "grad_?[oO]utput: expected"),
        (((1, 1, 4, 4), (2, 2), (2, 2), (2, 2)), "padding: expected"),
        (((1, 1, 4, 4), (2, 0)), "kernel_?[sS]ize.*: expected"),
        (((1, 1, 1, 1), (5, 5), (3, 3), (0, 0), True), "expected a size that holds a window"),  # torch's forward refuses it too
        (((4, 4), (2, 2)), "expected 3 to 4 dimensions|expected format NCHW or NCL"),
    ],
)
@host_engine_only
def test_the_operator_refuses_what_would_read_outside(device, arguments, words):
    with pytest.raises(RuntimeError, match=words):
        op(torch.ones(1, 1, 2, 2, device=device), *arguments)


@host_engine_only
def test_the_operator_names_the_entry_point_the_code_and_its_meaning():
    words = (
        r"aclnnAvgPool2dBackward failed with 161002 \(ACLNN_ERR_PARAM_INVALID.*divisorOverride: expected a value in \[-255, 255\], got 300"
    )
    with pytest.raises(RuntimeError, match=words):
        op(torch.ones(1, 1, 2, 2, device="npu"), (1, 1, 4, 4), (2, 2), divisor_override=300)
    with pytest.raises(RuntimeError, match="DOUBLE"):
        op(torch.ones(1, 1, 2, 2, device="npu", dtype=torch.float64), (1, 1, 4, 4), (2, 2))


def test_an_empty_stride_is_the_kernel_size(device):
    x = torch.randn(1, 1, 4, 6, device=device)
    for stride in ((), [], None):
        assert torch.equal(torch_aclnn.functional.avg_pool2d(x, 2, stride).cpu(), torch_aclnn.functional.avg_pool2d(x, 2, 2).cpu())


@pytest.mark.parametrize("device", ["cpu", "npu", "meta"])
def test_one_value_stands_for_both_directions(device):
    result = op(torch.ones(1, 1, 2, 2, device=device), (1, 1, 4, 4), [2], [2], [0])
    assert result.shape == (1, 1, 4, 4)
    assert device == "meta" or bool((result == 0.25).all())


def test_module_has_the_state_and_repr_of_torch():
    ours, theirs = torch_aclnn.nn.AvgPool2d(3, 2, 1, True, False, 4), torch.nn.AvgPool2d(3, 2, 1, True, False, 4)
    assert repr(ours) == repr(theirs) and ours.state_dict() == theirs.state_dict()
    x = torch.randn(1, 2, 7, 7)
    assert torch.equal(ours(x), theirs(x))
