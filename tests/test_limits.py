"""What torch takes and the operators' documents do not: torch's own path, by function, convert and patch; and numpy's integers."""

import contextlib
import copy

import torch_aclnn
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from marks import beyond_the_documents

ours = torch_aclnn.functional


def unpooled(x: Tensor, dtype: torch.dtype) -> Tensor:
    indices = torch.zeros(1, 1, 1, 4, 4, dtype=torch.int64, device=x.device)
    return ours.max_unpool3d(x[None].to(dtype), indices, 2)


BEYOND = {
    "a divisor above 255": (lambda x: ours.avg_pool2d(x, 2, divisor_override=256), "AvgPool2DBackward0"),
    "a divisor below -255": (lambda x: ours.avg_pool2d(x, 2, divisor_override=-(2**33)), "AvgPool2DBackward0"),
    "more than 65535 channels": (lambda x: ours.avg_pool2d(x.expand(1, 65536, 4, 4), 2), "AvgPool2DBackward0"),
    "left as wide as the input": (lambda x: ours.replication_pad2d(x, (4, 0, 0, 0)), "ReplicationPad2DBackward0"),
    "right as wide as the input": (lambda x: ours.replication_pad2d(x, (0, 4, 0, 0)), "ReplicationPad2DBackward0"),
    "top as high as the input": (lambda x: ours.replication_pad2d(x, (0, 0, 4, 0)), "ReplicationPad2DBackward0"),
    "bottom as high as the input": (lambda x: ours.replication_pad2d(x, (0, 0, 0, 4)), "ReplicationPad2DBackward0"),
    "nine dimensions": (lambda x: ours.batch_norm(x.view(2, *[1, 2] * 3, 1, 1), None, None, training=True), "NativeBatchNormBackward0"),
}
WITHIN = {
    "a divisor of -255": (lambda x: ours.avg_pool2d(x, 2, divisor_override=-255), "AvgPool2dBackward"),
    "65535 channels": (lambda x: ours.avg_pool2d(x.expand(1, 65535, 4, 4), 2), "AvgPool2dBackward"),
    "padding one less than the input": (lambda x: ours.replication_pad2d(x, 3), "ReplicationPad2dBackward"),
    "cropping by as much as wanted": (lambda x: ours.replication_pad2d(x, (3, -3, -3, 3)), "ReplicationPad2dBackward"),
    "eight dimensions": (lambda x: ours.batch_norm(x.view(2, *[1, 2] * 3, 1), None, None, training=True), "BatchNormBackward"),
    "unpooling bfloat16": (lambda x: unpooled(x, torch.bfloat16), "MaxUnpool3dBackward"),
}


@pytest.mark.parametrize("name", [*BEYOND, *WITHIN])
def test_the_documents_limits_decide_the_path(device, name):
    if device == "npu" and name == "nine dimensions":
        pytest.skip("torch_npu's own batch norm ends at eight, too")
    function, node = {**BEYOND, **WITHIN}[name]
    x = torch.randn(1, 1, 4, 4, device=device, requires_grad=True)
    assert function(x).grad_fn.name().endswith(node)


@pytest.mark.parametrize("name", BEYOND)
def test_torchs_own_path_has_torchs_gradient(name):
    x = torch.randn(1, 1, 4, 4, requires_grad=True)
    y = BEYOND[name][0](x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert gradient.shape == x.shape and gradient.isfinite().all()


@pytest.mark.parametrize("module", [nn.AvgPool2d(2, divisor_override=256), nn.ReplicationPad2d(5)])
@pytest.mark.parametrize("switch", ["convert", "patch"])
def test_convert_and_patch_fall_back_alike(device, module, switch):
    x = torch.randn(2, 3, 4, 4, device=device, requires_grad=True)
    module = copy.deepcopy(module)
    expected = module(x)
    with torch_aclnn.patch() if switch == "patch" else contextlib.nullcontext():
        y = (torch_aclnn.convert(module) if switch == "convert" else module)(x)
    assert torch.equal(y.cpu(), expected.cpu()) and y.grad_fn.name() == expected.grad_fn.name()


two = np.int64(2)
NUMPY = {
    "avg_pool2d": (
        nn.AvgPool2d(two, stride=two, padding=np.int32(1), divisor_override=np.uint8(3)),
        nn.AvgPool2d(2, 2, 1, divisor_override=3),
    ),
    "avg_pool2d, lists": (nn.AvgPool2d([two, 3], stride=(two, 1)), nn.AvgPool2d((2, 3), (2, 1))),
    "adaptive_avg_pool2d": (nn.AdaptiveAvgPool2d((two, None)), nn.AdaptiveAvgPool2d((2, None))),
    "replication_pad2d": (nn.ReplicationPad2d(two), nn.ReplicationPad2d(2)),
}


@pytest.mark.parametrize("name", NUMPY)
def test_integers_of_numpy_are_integers(device, name):
    given, plain = (torch_aclnn.convert(module) for module in NUMPY[name])
    x = torch.randn(2, 3, 4, 4, device=device, requires_grad=True)
    y = given(x)
    assert torch.equal(y.cpu(), plain(x).cpu()) and "Backward0" not in y.grad_fn.name()


def test_an_unpoolings_arguments_may_be_numpys(device):
    x, indices = torch.ones(1, 1, 1, 1, 2, device=device), torch.tensor([0, 7], device=device).view(1, 1, 1, 1, 2)
    y = ours.max_unpool3d(x, indices, two, two, np.int64(0), np.array([2, 2, 4]))
    assert torch.equal(y.cpu(), ours.max_unpool3d(x, indices, 2).cpu())


@pytest.mark.parametrize("value", [b"ab", "ab", bytearray(b"ab"), True, np.bool_(True), None, 2.0, [[2, 2], [2, 2]]])
def test_what_is_no_integer_is_refused(device, value):
    with pytest.raises(TypeError, match=r"avg_pool2d: kernel_size: expected integers, got "):
        ours.avg_pool2d(torch.ones(1, 1, 4, 4, device=device), value)


@beyond_the_documents
def test_compiled_code_takes_the_path_of_each_size(device):
    function = lambda x: ours.replication_pad2d(x, 3)
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=True)
    for size in ((1, 2, 5, 6), (1, 2, 3, 2), (1, 2, 7, 4)):
        x = torch.randn(size, device=device, requires_grad=True)
        expected, actual = function(x), compiled(x)
        assert torch.equal(actual.cpu(), expected.cpu())
        gradients = [torch.autograd.grad(y, x, torch.ones_like(y))[0].cpu() for y in (expected, actual)]
        assert torch.equal(*gradients)
    torch._dynamo.reset()
