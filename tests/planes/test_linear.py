"""Every pooling and padding: the gradient against its definition, on npu through its entry point and on cpu through the same kernels."""

import contextlib

import torch_aclnn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_aclnn._operators import BY_NAME

from support import layouts
from support.comparison import assert_rounded_once
from support.marks import beyond_the_documents, host_engine_only
from support.operators import ROWS

LINEAR = [row for row in ROWS.values() if row.planes]
for_each = pytest.mark.parametrize("row", LINEAR, ids=lambda row: row.name)
for_each_call = pytest.mark.parametrize(
    ("row", "call"), [pytest.param(row, call, id=f"{row.name}-{i}") for row in LINEAR for i, call in enumerate(row.planes.calls())]
)


@contextlib.contextmanager
def named(*names):
    """Name what a comparison within is of."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{names}: {error}") from error


def assert_is(grad_input, exact):
    if grad_input.is_complex():
        torch.testing.assert_close(grad_input.cpu(), exact.to(grad_input.dtype), rtol=1e-5, atol=1e-5)
    else:
        assert_rounded_once(grad_input, exact.real)


@for_each_call
def test_gradient_is_the_definition_rounded_once(device, row, call):
    gradients = [torch.randn(call.grad_size, dtype=getattr(torch, name)) for name in row.planes.dtypes]
    together = torch.stack([gradient.to(torch.complex128) for gradient in gradients])
    for gradient, exact in zip(gradients, row.tensor_gradient(together, (len(gradients), *call.size), *call.attributes), strict=True):
        for layout in layouts.LAYOUTS:
            grad_input = row.operator.op(layout(gradient).to(device), call.size, *call.attributes)
            assert grad_input.dtype == gradient.dtype and grad_input.device.type == device
            with named(gradient.dtype, layout.__name__):
                assert_is(grad_input, exact)


@for_each
@settings(max_examples=60)
@given(data=st.data())
def test_any_legal_call_matches_the_definition(row, data):
    call = row.planes.draw_call(data.draw)
    grad_output = torch.randn(call.grad_size)
    exact, scale = (row.tensor_gradient(g, call.size, *call.attributes) for g in (grad_output, grad_output.abs()))
    for device in ("cpu", "npu"):
        assert_rounded_once(row.operator.op(grad_output.to(device), call.size, *call.attributes), exact, scale.abs().max())


@beyond_the_documents
@for_each
def test_same_bits_as_the_operator_of_torch_npu(row):
    aten = BY_NAME[row.name].aten_backward
    if aten is None:
        pytest.skip("torch_npu has none")
    for call in row.planes.calls():
        if row.name.startswith("adaptive") and set(call.grad_size[-row.dims :]) == {1}:  # torch_npu computes this one as a mean
            continue
        grad_output = torch.randn(call.grad_size).npu()
        theirs = getattr(torch.ops.aten, aten)(grad_output, torch.zeros(call.size).npu(), *call.attributes)
        assert torch.equal(row.operator.op(grad_output, call.size, *call.attributes).cpu(), theirs.cpu())


@host_engine_only
@for_each
def test_same_bits_on_cpu_and_npu(row):
    for call in row.planes.calls():
        grad_output = torch.randn(call.grad_size)
        on_cpu, on_npu = (row.operator.op(grad_output.to(device), call.size, *call.attributes) for device in ("cpu", "npu"))
        assert torch.equal(on_cpu, on_npu.cpu())


@for_each
def test_an_empty_batch_gives_an_empty_gradient(device, row):
    call = list(row.planes.calls())[1]
    size = (0, *call.size[1:])
    assert row.operator.op(torch.empty(0, *call.grad_size[1:], device=device), size, *call.attributes).shape == size


@for_each
def test_out_receives_the_result_in_its_own_strides(device, row):
    call = list(row.planes.calls())[1]
    grad_output = torch.randn(call.grad_size, device=device)
    expected = row.operator.op(grad_output, call.size, *call.attributes)
    out = layouts.offset_and_gaps(torch.zeros(call.size, device=device))
    row.operator.op.out(grad_output, call.size, *call.attributes, out=out)
    assert torch.equal(out.cpu(), expected.cpu())
    resized = torch.empty(0, device=device)
    row.operator.op.out(grad_output, call.size, *call.attributes, out=resized)
    assert torch.equal(resized.cpu(), expected.cpu())


@for_each
def test_module_has_the_state_repr_and_results_of_torch(row):
    name = BY_NAME[row.name].modules[0]
    ours, theirs = (getattr(library, name)(*row.planes.module) for library in (torch_aclnn.nn, torch.nn))
    assert repr(ours) == repr(theirs) and ours.state_dict() == theirs.state_dict()
    x = torch.randn(1, 2, *(4, 7, 5)[-row.dims :])
    assert torch.equal(ours(x), theirs(x))
