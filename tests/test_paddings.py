"""What holds for the gradient of every padding, by aclnn entry points and by the same kernels on cpu."""

import torch_aclnn
import pytest
import torch
from torch_aclnn._operators import BY_NAME, Operator

from support import layouts
from support.functions import keeps_its_input
from support.marks import beyond_the_documents

#        input size      left, right, top, bottom; legal for each padding
CASES = [((1, 1, 5), (1, 1, 0, 0)), ((2, 3, 7, 6), (1, 2, 3, 0)), ((2, 3, 9, 8), (-1, 2, -3, 1)), ((2, 3, 4, 4), (0, 0, 0, 0))]

pytestmark = pytest.mark.parametrize("operator", [BY_NAME["replication_pad2d"], BY_NAME["reflection_pad2d"]], ids=lambda o: o.name)


def backward(operator: Operator):
    return getattr(torch.ops.torch_aclnn, operator.backward)


def function(operator: Operator):
    return getattr(torch_aclnn.functional, operator.function)


@beyond_the_documents
def test_same_bits_as_the_operator_of_torch_npu(operator):
    for size, padding in CASES:
        grad_output = torch.randn(*size[:-2], size[-2] + sum(padding[2:]), size[-1] + sum(padding[:2])).npu()
        theirs = getattr(torch.ops.aten, operator.aten_backward)(grad_output, torch.zeros(size).npu(), padding)
        assert torch.equal(backward(operator)(grad_output, size, padding).cpu(), theirs.cpu())


def test_an_empty_batch_gives_an_empty_gradient(device, operator):
    grad_output = torch.empty(0, 3, 6, 6, device=device)
    assert backward(operator)(grad_output, (0, 3, 4, 4), (1, 1, 1, 1)).shape == (0, 3, 4, 4)


def test_out_receives_the_result_in_its_own_strides(device, operator):
    grad_output = torch.randn(2, 3, 10, 12, device=device)
    out = layouts.offset_and_gaps(torch.zeros(2, 3, 8, 10, device=device))
    backward(operator).out(grad_output, (2, 3, 8, 10), (1, 1, 1, 1), out=out)
    assert torch.equal(out.cpu(), backward(operator)(grad_output, (2, 3, 8, 10), (1, 1, 1, 1)).cpu())


def test_gradcheck(device, operator):
    # CANN lists DOUBLE and COMPLEX128 for these operators; but not COMPLEX128 for aclnnAdds, which gradcheck itself needs on npu.
    for dtype in (torch.float64,) if device == "npu" else (torch.float64, torch.complex128):
        x = torch.randn(2, 2, 3, 4, device=device, dtype=dtype, requires_grad=True)
        for padding in ((1, 2, 0, 1), 2):
            fn = lambda x: function(operator)(x, padding)  # noqa: B023
            assert torch.autograd.gradcheck(fn, x) and torch.autograd.gradgradcheck(fn, x)


def test_gradcheck_in_float32(device, operator):
    # The map is linear, so a large step has no truncation error and float32 is exact enough.
    x = torch.randn(2, 2, 3, 4, device=device, requires_grad=True)
    fn = lambda x: function(operator)(x, (1, 3, 2, 0))
    assert torch.autograd.gradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)
    assert torch.autograd.gradgradcheck(fn, x, eps=1.0, atol=1e-4, rtol=1e-4)


def test_the_input_is_not_kept_alive(device, operator):
    x = torch.randn(1, 1, 4, 4, device=device)
    assert not keeps_its_input(lambda x: function(operator)(x, 2), x)


def test_vmap_equals_a_loop(device, operator):
    x = torch.randn(3, 2, 4, 6, device=device)
    fn = lambda x: function(operator)(x, (1, 2, 0, 1))
    assert torch.equal(torch.vmap(fn)(x).cpu(), torch.stack([fn(row) for row in x]).cpu())
    gradient = torch.func.grad(lambda x: fn(x).square().sum())
    torch.testing.assert_close(torch.vmap(gradient)(x).cpu(), torch.stack([gradient(row) for row in x]).cpu())


def test_opcheck(device, operator):
    grad_output, op = torch.randn(2, 3, 6, 7, device=device), backward(operator)
    torch.library.opcheck(op.default, (grad_output, (2, 3, 4, 4), (1, 2, 1, 1)))
    torch.library.opcheck(op.out, (grad_output, (2, 3, 4, 4), (1, 2, 1, 1)), {"out": torch.empty(2, 3, 4, 4, device=device)})


def test_module_has_the_state_and_repr_of_torch(operator):
    (name,) = operator.modules
    ours, theirs = getattr(torch_aclnn.nn, name)((1, 2, 3, 0)), getattr(torch.nn, name)((1, 2, 3, 0))
    assert repr(ours) == repr(theirs) and ours.state_dict() == theirs.state_dict()
    x = torch.randn(1, 2, 7, 5)
    assert torch.equal(ours(x), theirs(x))
