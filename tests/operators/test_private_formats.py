"""Tensors in torch_npu's private formats, which it makes by default on the older products: operators take them, and results have none."""

import torch_aclnn
import pytest
import torch
import torch_npu

from support.dtypes import Format
from support.marks import host_engine_only

pytestmark = host_engine_only


@pytest.fixture(autouse=True)
def _private_formats():
    torch_npu.npu.config.allow_internal_format = True  # the setting cannot be read; False is the default
    yield
    torch_npu.npu.config.allow_internal_format = False


def private(tensor: torch.Tensor) -> torch.Tensor:
    kind = Format.NC1HWC0 if tensor.dim() == 4 else Format.NDC1HWC0
    there = torch_npu.npu_format_cast(tensor.npu(), kind)
    assert torch_npu.get_npu_format(there) == kind
    return there


OPERATORS = torch.ops.torch_aclnn
SIZE = (2, 17, 6, 6)
CALLS = {
    "avg_pool2d": ((2, 17, 3, 3), lambda gradient: OPERATORS.avg_pool2d_backward(gradient, SIZE, (2, 2))),
    "adaptive_avg_pool2d": ((2, 17, 2, 2), lambda gradient: OPERATORS.adaptive_avg_pool2d_backward(gradient, SIZE)),
    "replication_pad2d": ((2, 17, 8, 8), lambda gradient: OPERATORS.replication_pad2d_backward(gradient, SIZE, (1, 1, 1, 1))),
    "reflection_pad2d": ((2, 17, 8, 8), lambda gradient: OPERATORS.reflection_pad2d_backward(gradient, SIZE, (1, 1, 1, 1))),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize(("size", "call"), CALLS.values(), ids=CALLS)
def test_a_gradient_in_a_private_format(size, call, dtype):
    gradient = torch.randn(size).to(dtype)
    assert torch.equal(call(private(gradient)).cpu(), call(gradient.npu()).cpu())


def test_a_repeated_call_does_not_read_the_copy_of_an_earlier_one():
    size, call = CALLS["avg_pool2d"]
    gradient = private(torch.randn(size))
    expected = call(gradient).cpu()
    for _ in range(3):
        in_its_place = torch.full(size, 9.0, device="npu")
        assert torch.equal(call(gradient).cpu(), expected)
        del in_its_place


def test_batch_norm_of_an_input_in_a_private_format():
    x, gradient, ones = torch.randn(SIZE), torch.randn(SIZE), torch.ones(17).npu()

    def gradients(place):
        return torch.ops.torch_aclnn._batch_norm_backward(place(gradient), place(x), ones, 0 * ones, ones, 1e-5, [True] * 3)

    for ours, expected in zip(gradients(private), gradients(torch.Tensor.npu), strict=True):
        assert torch.equal(ours.cpu(), expected.cpu())


@pytest.mark.parametrize("size", [SIZE, (2, 17, 3, 6, 6)], ids=["image", "volume"])
def test_training_of_batch_norm_with_an_input_in_a_private_format(size):
    x, gradient = torch.randn(size), torch.randn(size).npu()

    def result_and_gradient(place):
        leaf = place(x).requires_grad_()
        result = torch_aclnn.functional.batch_norm(leaf, None, None, torch.ones(17).npu(), training=True)
        return result, *torch.autograd.grad(result, leaf, gradient)

    for ours, expected in zip(result_and_gradient(private), result_and_gradient(torch.Tensor.npu), strict=True):
        torch.testing.assert_close(ours.cpu(), expected.cpu(), rtol=1e-5, atol=1e-6)


def test_a_result_in_a_private_format_is_refused():
    out = private(torch.zeros(1, 16, 4, 4))
    with pytest.raises(RuntimeError, match=r"out: expected a tensor of a base format, got aclFormat 3; convert it with torch_npu"):
        torch.ops.torch_aclnn.avg_pool2d_backward.out(torch.ones(1, 16, 2, 2).npu(), (1, 16, 4, 4), (2, 2), out=out)
