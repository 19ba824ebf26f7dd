"""Tensors whose sizes are huge and whose elements are few, or none: they cost neither memory nor time."""

import pytest

from support.subprocesses import output_of

EMPTY = {
    "avg_pool2d": "ops.avg_pool2d_backward(torch.empty(0, 1, 1 << 27, 1, device=D), (0, 1, 1 << 28, 1), (2, 1))",
    "adaptive_avg_pool2d": "ops.adaptive_avg_pool2d_backward(torch.empty(0, 1, 1 << 28, 1, device=D), (0, 1, 1 << 28, 1))",
}


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("call", EMPTY.values(), ids=EMPTY)
def test_empty_gradient_of_huge_rows_takes_no_memory(call, device):
    code = f"""
    import resource, torch, torch_aclnn
    D, ops = {device!r}, torch.ops.torch_aclnn
    torch.ones(9, device=D).sum().item()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert {call}.numel() == 0
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    """
    assert int(output_of(code)) < 64  # the limit in MiB


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_counter_that_repeats_one_value_is_not_walked_through(device):
    code = f"""
    import torch, torch_aclnn
    x = torch.arange(12.0).reshape(2, 3, 2).to({device!r})
    one = torch.ones(3, device={device!r})
    def gradient(counter):
        call = torch.ops.torch_aclnn.batch_norm_elemt_backward
        return call(x, x, one, one, one, one, 2 * one, counter)
    repeated = torch.full((1,), 2, dtype=torch.int32, device={device!r}).expand(1 << 33)
    total = torch.full((1,), float(1 << 34), device={device!r})
    print(torch.equal(gradient(repeated), gradient(total)))
    """
    assert output_of(code) == "True"
