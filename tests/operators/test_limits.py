"""Calls that torch takes and the operators' documents do not, which take torch's own path; and integers of numpy."""

import contextlib

import torch_aclnn
import numpy as np
import pytest
import torch

from support.functions import on_devices_in_turn
from support.marks import beyond_the_documents, skip_if_torchs
from support.operators import ROWS

ours = torch_aclnn.functional
# For each operator and case: the call within or beyond a limit, its node, and the number of dimensions of a plane.
WITHIN = {f"{row.name}, {name}": (call, row.limits.node, row.dims) for row in ROWS.values() for name, call in row.limits.within.items()}
BEYOND = {
    f"{row.name}, {name}": (call, row.limits.torch_node, row.dims) for row in ROWS.values() for name, call in row.limits.beyond.items()
}
TORCH_NPU_REFUSES = {f"{row.name}, {name}" for row in ROWS.values() for name in row.limits.torch_npu_refuses}
MODULES = {row.name: (row.limits.modules, row.dims) for row in ROWS.values() if row.limits.modules()}
NUMPY = {f"{row.name}, {name}": (make, row.dims) for row in ROWS.values() for name, make in row.limits.numpy_modules.items()}


@on_devices_in_turn("name", [*BEYOND, *WITHIN])
def test_the_documents_limits_decide_the_path(device, name):
    if device == "npu" and name in TORCH_NPU_REFUSES:
        pytest.skip("torch_npu's own operator does not take it either")
    if name in WITHIN:
        skip_if_torchs(name.partition(",")[0], device)
    function, node, dims = {**BEYOND, **WITHIN}[name]
    x = torch.randn(1, 1, *[4] * dims, device=device, requires_grad=True)
    assert function(ours, x).grad_fn.name().endswith(node)


@pytest.mark.parametrize("name", BEYOND)
def test_torchs_own_path_has_torchs_gradient(name):
    function, _, dims = BEYOND[name]
    x = torch.randn(1, 1, *[4] * dims, requires_grad=True)
    (gradient,) = torch.autograd.grad(function(ours, x).sum(), x)
    assert gradient.shape == x.shape and gradient.isfinite().all()


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize(("switch", "device"), [("convert", "cpu"), ("patch", "npu")])  # patch() leaves cpu alone
def test_convert_and_patch_fall_back_alike(device, name, switch):
    make, dims = MODULES[name]
    for module in make():
        x = torch.randn(2, 3, *[4] * dims, device=device, requires_grad=True)
        expected = module(x)
        with torch_aclnn.patch() if switch == "patch" else contextlib.nullcontext():
            y = (torch_aclnn.convert(module) if switch == "convert" else module)(x)
        assert torch.equal(y.cpu(), expected.cpu()) and y.grad_fn.name() == expected.grad_fn.name()


@on_devices_in_turn("name", NUMPY)
def test_integers_of_numpy_are_integers(device, name):
    skip_if_torchs(name.partition(",")[0], device)
    make, dims = NUMPY[name]
    given, plain = (torch_aclnn.convert(module) for module in make())
    x = torch.randn(2, 3, *[4] * dims, device=device, requires_grad=True)
    y = given(x)
    assert torch.equal(y.cpu(), plain(x).cpu()) and "Backward0" not in y.grad_fn.name()


def test_an_unpoolings_arguments_may_be_numpys(device):
    x, indices = torch.ones(1, 1, 1, 1, 2, device=device), torch.tensor([0, 7], device=device).view(1, 1, 1, 1, 2)
    y = ours.max_unpool3d(x, indices, np.int64(2), np.int64(2), np.int64(0), np.array([2, 2, 4]))
    assert torch.equal(y.cpu(), ours.max_unpool3d(x, indices, 2).cpu())


@on_devices_in_turn("value", [b"ab", "ab", bytearray(b"ab"), True, np.bool_(True), None, 2.0, [[2, 2], [2, 2]]])
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
