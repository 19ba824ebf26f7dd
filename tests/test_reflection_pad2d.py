"""Reflection padding: the gradient against the definition, through aclnnReflectionPad2dBackward and the same kernels on cpu."""

import torch_aclnn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import layouts
from support.comparison import assert_rounded_once
from support.marks import beyond_the_documents
from support.operators.reflection_pad2d import tensor_gradient

op = torch.ops.torch_aclnn.reflection_pad2d_backward

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.complex128)
#        input size      left, right, top, bottom
CASES = [
    ((1, 1, 5), (1, 1, 0, 0)),
    ((2, 3, 7, 6), (1, 2, 3, 0)),
    ((1, 2, 3, 3), (2, 2, 2, 2)),  # as wide as it may be
    ((2, 3, 9, 8), (-1, 2, -3, 1)),
    ((2, 1, 9, 8), (-2, -3, -4, -1)),
    ((3, 1, 1), (0, 0, 0, 0)),
    ((2, 3, 4, 4), (0, 0, 0, 0)),
]


def padded(size, padding) -> tuple[int, ...]:
    left, right, top, bottom = padding
    return (*size[:-2], size[-2] + top + bottom, size[-1] + left + right)


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CASES)
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
    assert op(torch.ones(1, 1, 7, device=device), (1, 1, 5), (1, 1, 0, 0)).flatten().tolist() == [1, 2, 1, 2, 1]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_legal_padding_matches_the_definition(data):
    size = (1, 2, data.draw(st.integers(1, 8)), data.draw(st.integers(1, 8)))
    left, top = (data.draw(st.integers(1 - d, d - 1)) for d in (size[3], size[2]))
    right, bottom = (data.draw(st.integers(1 - d - before, d - 1)) for d, before in ((size[3], left), (size[2], top)))
    padding = (left, right, top, bottom)
    grad_output = torch.randn(padded(size, padding))
    exact, scale = (tensor_gradient(g, size, padding) for g in (grad_output, grad_output.abs()))
    for device in ("cpu", "npu"):
        assert_rounded_once(op(grad_output.to(device), size, padding), exact, scale.max())


@beyond_the_documents
def test_same_bits_as_the_operator_of_torch_npu():
    for size, padding in CASES:
        grad_output = torch.randn(padded(size, padding)).npu()
        theirs = torch.ops.aten.reflection_pad2d_backward(grad_output, torch.zeros(size).npu(), padding)
        assert torch.equal(op(grad_output, size, padding).cpu(), theirs.cpu())


def test_an_empty_batch_gives_an_empty_gradient(device):
    assert op(torch.empty(0, 3, 6, 6, device=device), (0, 3, 4, 4), (1, 1, 1, 1)).shape == (0, 3, 4, 4)


def test_out_receives_the_result_in_its_own_strides(device):
    grad_output = torch.randn(2, 3, 10, 12, device=device)
    out = layouts.offset_and_gaps(torch.zeros(2, 3, 8, 10, device=device))
    op.out(grad_output, (2, 3, 8, 10), (1, 1, 1, 1), out=out)
    assert torch.equal(out.cpu(), op(grad_output, (2, 3, 8, 10), (1, 1, 1, 1)).cpu())


def test_gradcheck(device):
    # CANN lists DOUBLE and COMPLEX128 for this operator; but not COMPLEX128 for aclnnAdds, which gradcheck itself needs on npu.
    for dtype in (torch.float64,) if device == "npu" else (torch.float64, torch.complex128):
        x = torch.randn(2, 2, 3, 4, device=device, dtype=dtype, requires_grad=True)
        for padding in ((1, 2, 0, 1), 2, (-1, 1, 2, -1)):
            fn = lambda x: torch_aclnn.functional.reflection_pad2d(x, padding)  # noqa: B023
            assert torch.autograd.gradcheck(fn, x) and torch.autograd.gradgradcheck(fn, x)


def test_gradcheck_in_float32(device):
    # The map is linear, so a large step has no truncation error and float32 is exact enough.
    x = torch.randn(2, 2, 3, 4, device=device, requires_grad=True)
    fn = lambda x: torch_aclnn.functional.reflection_pad2d(x, (1, 3, 2, 0))
    assert torch.autograd.gradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)
    assert torch.autograd.gradgradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)


def test_the_input_is_not_kept_alive(device):
    x = torch.randn(1, 1, 4, 4, device=device, requires_grad=True)
    assert not torch_aclnn.functional.reflection_pad2d(x * 1, 2).grad_fn.saved_tensors


def test_vmap_equals_a_loop(device):
    x = torch.randn(3, 2, 4, 6, device=device)
    fn = lambda x: torch_aclnn.functional.reflection_pad2d(x, (1, 2, 0, 1))
    assert torch.equal(torch.vmap(fn)(x).cpu(), torch.stack([fn(row) for row in x]).cpu())
    gradient = torch.func.grad(lambda x: fn(x).square().sum())
    torch.testing.assert_close(torch.vmap(gradient)(x).cpu(), torch.stack([gradient(row) for row in x]).cpu())


def test_opcheck(device):
    grad_output = torch.randn(2, 3, 6, 7, device=device)
    torch.library.opcheck(op.default, (grad_output, (2, 3, 4, 4), (1, 2, 1, 1)))
    torch.library.opcheck(op.out, (grad_output, (2, 3, 4, 4), (1, 2, 1, 1)), {"out": torch.empty(2, 3, 4, 4, device=device)})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x: f(3, 2), TypeError, "reflection_pad2d: input: expected a Tensor, got int"),
        (lambda f, x: f(x[0, 0], 2), ValueError, "reflection_pad2d: input: expected 3 or 4 dimensions"),
        (lambda f, x: f(x, (1, 2)), ValueError, "reflection_pad2d: padding: expected one integer or 4"),
        (lambda f, x: f(x, 0.5), TypeError, "reflection_pad2d: padding: expected integers"),
        (lambda f, x: f(x, 2**63 - 1), ValueError, "reflection_pad2d: padding: expected values of at most"),
        *(
            (
                lambda f, x, i=i: f(x, [4 * (n == i) for n in range(4)]),
                ValueError,
                "padding: expected values below the sizes that they extend",
            )
            for i in range(4)
        ),
        (lambda f, x: f(x, -2), ValueError, "reflection_pad2d: padding: expected a padded size of at least 1"),
    ],
)
def test_bad_arguments_are_refused_by_name(device, call, error, words):
    with pytest.raises(error, match=words):
        call(torch_aclnn.functional.reflection_pad2d, torch.zeros(1, 1, 4, 4, device=device))


@pytest.mark.parametrize(
    ("size", "padding"),
    [
        ((1, 1, 5, 4), (1, 1, 1, 1)),
        ((1, 2, 4, 4), (1, 1, 1, 1)),
        ((1, 1, 4, 4), (2, 1, 1, 1)),
        ((4, 4), (1, 1, 1, 1)),
        ((1, 1, 4, 3), (3, 0, 1, 1)),
        ((1, 1, 4, 3), (0, 3, 1, 1)),
        ((1, 1, 3, 4), (1, 1, 3, 0)),
        ((1, 1, 3, 4), (1, 1, 0, 3)),
    ],
)
def test_the_operator_refuses_sizes_that_do_not_fit(device, size, padding):
    with pytest.raises(RuntimeError, match="expected"):
        op(torch.ones(1, 1, 6, 6, device=device), size, padding)


def test_module_has_the_state_and_repr_of_torch():
    ours, theirs = torch_aclnn.nn.ReflectionPad2d((1, 2, 3, 0)), torch.nn.ReflectionPad2d((1, 2, 3, 0))
    assert repr(ours) == repr(theirs) and ours.state_dict() == theirs.state_dict()
    x = torch.randn(1, 2, 7, 5)
    assert torch.equal(ours(x), theirs(x))
