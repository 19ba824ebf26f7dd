"""The cache of executors that torch_npu looks up before phase 1: what it finds, and that its results are those of the call at hand."""

import contextlib
import ctypes

import torch_aclnn
import pytest
import torch
from torch_aclnn.loading.paths import libdir

from support.library import Library
from support.marks import host_engine_only

pytestmark = host_engine_only


def test_another_tensor_is_another_call():
    x = torch.arange(16.0).view(1, 1, 4, 4).npu()
    others = x.clone(), x[:, :, ::2], x.mT, x.half(), x[..., 1:], x.view(1, 16)
    for values in (y for other in others for y in (x, x, other, x, other)):
        torch.testing.assert_close(values.exp2().cpu(), values.cpu().exp2(), rtol=0, atol=0)


def test_a_call_made_again_has_no_phase_1():
    x, out = torch.ones(4, device="npu"), torch.empty(4, device="npu")
    before = torch_aclnn.host.statistics().cache_hits
    for value in (1, 2, 3):
        x.fill_(value)
        torch.neg(x, out=out)
        torch.npu.synchronize()
    assert torch_aclnn.host.statistics().cache_hits - before >= 2
    assert out.tolist() == [-3] * 4


@pytest.mark.parametrize("faults", [None, "alloc:1000"], ids=["", "with faults set"])
def test_a_call_made_again_has_its_own_tensors(faults):
    """The addresses are no part of the key: those of the call at hand take their places."""
    made = [torch.arange(4.0).add(i).npu() for i in range(5)]
    torch.npu.synchronize()
    before = torch_aclnn.host.statistics().cache_hits
    with torch_aclnn.host.inject(faults) if faults else contextlib.nullcontext():
        results = [torch.stack([x, x.exp2()]) for x in made]
        torch._foreach_add_(made, [torch.arange(4.0).npu()] * 5)
        torch.npu.synchronize()
    assert torch_aclnn.host.statistics().cache_hits - before >= 8
    for i, (x, result) in enumerate(zip(made, results, strict=True)):
        given = torch.arange(4.0) + i
        assert torch.equal(result.cpu(), torch.stack([given, given.exp2()])) and torch.equal(x.cpu(), given + torch.arange(4.0))


def test_phase_1_is_called_where_it_is_to_fail():
    x = torch.ones(3, device="npu")
    _ = x.exp2(), x.exp2()
    with torch_aclnn.host.inject("aclnnExp2GetWorkspaceSize:2"), pytest.raises(RuntimeError, match="561000"):
        _ = x.exp2(), x.exp2()
        torch.npu.synchronize()


def test_an_output_that_is_an_input_is_another_call():
    x, out = torch.ones(4, device="npu"), torch.empty(4, device="npu")
    torch.neg(x, out=out)
    torch.neg(x, out=x)
    torch.neg(out, out=out)
    assert x.tolist() == [-1] * 4 and out.tolist() == [1] * 4


def test_other_numbers_are_another_call():
    x = torch.ones(1, 1, 6, 6, device="npu")
    got = [torch_aclnn.functional.avg_pool2d(x, 2, divisor_override=divisor).unique().item() for divisor in (1, 2, 4, 1, 2, 4)]
    assert got == [4, 2, 1, 4, 2, 1]


def test_the_functions_take_what_is_no_key():
    library = Library(str(libdir() / "libopapi.so"))
    size = ctypes.byref(ctypes.c_uint64())
    library.SetPTACacheHashKey(None, 0)
    assert library.PTAGetExecCache(0, size) is None
    assert library.PTAGetExecCache(12345, size) is None
    assert library.PTAGetExecCache(12345, None) is None
    assert library.PTAFindExecCache(None, 0, size) is None
    assert library.PTAFindExecCache(b"unknown", 7, size) is None
    library.UnInitPTACacheThreadLocal()
