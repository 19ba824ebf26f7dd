"""Lists, sizes and results that would make a kernel read or write outside: each is an exception, on every device."""

import torch_aclnn  # noqa: F401
import pytest
import torch

ops = torch.ops.torch_aclnn
EVERY_DEVICE = pytest.mark.parametrize("device", ["cpu", "npu", "meta"])


def plane(*size, device, dtype=torch.float32):
    return torch.ones(size, device=device, dtype=dtype)


def avg(device, kernel=(2, 2), stride=(), padding=(0, 0), size=(1, 1, 4, 4)):
    return ops.avg_pool2d_backward(plane(1, 1, 2, 2, device=device), size, kernel, stride, padding)


def unpool(device, output_size=(1, 1, 4), stride=(1, 1, 2), padding=(0, 0, 0)):
    indices = plane(1, 1, 1, 1, 2, device=device, dtype=torch.int64)
    return ops.max_unpool3d_backward(plane(1, 1, 1, 1, 4, device=device), indices, output_size, stride, padding)


def pad(device, padding=(1, 1, 1, 1), size=(1, 1, 2, 2)):
    return ops.replication_pad2d_backward(plane(1, 1, 4, 4, device=device), size, padding)


def adaptive(device, size=(1, 1, 4, 4)):
    return ops.adaptive_avg_pool2d_backward(plane(1, 1, 2, 2, device=device), size)


HUGE = 2**62
HOSTILE = {
    "empty kernel_size": (lambda d: avg(d, kernel=[]), "kernel_size: expected [1, 2] values, got 0"),
    "empty kernel_size with stride": (lambda d: avg(d, kernel=[], stride=[2, 2]), "kernel_size: expected [1, 2] values, got 0"),
    "three kernel sizes": (lambda d: avg(d, kernel=[2, 2, 2]), "kernel_size: expected [1, 2] values, got 3"),
    "three strides": (lambda d: avg(d, stride=[2, 2, 2]), "stride: expected [0, 1, 2] values, got 3"),
    "empty padding": (lambda d: avg(d, padding=[]), "padding: expected [1, 2] values, got 0"),
    "three paddings": (lambda d: avg(d, padding=[0, 0, 0]), "padding: expected [1, 2] values, got 3"),
    "kernel_size of 0": (lambda d: avg(d, kernel=[0, 2]), "kernel_size: expected values from 1 to 2147483647, got [0, 2]"),
    "kernel_size beyond any size": (lambda d: avg(d, kernel=[HUGE, HUGE]), "kernel_size: expected values from 1"),
    "stride of 0": (lambda d: avg(d, stride=[0, 1]), "stride: expected values from 1"),
    "negative padding": (lambda d: avg(d, padding=[-1, 0]), "padding: expected values from 0"),
    "padding beyond half a window": (lambda d: avg(d, padding=[2, 0]), "padding: expected values of at most half of kernel_size"),
    "negative input_size": (lambda d: avg(d, size=(-1, -1, 4, 4)), "input_size: expected sizes from 0"),
    "input_size that wraps": (lambda d: adaptive(d, size=(2**60, 2**60, 4, 4)), "input_size: expected fewer than 2^63 elements"),
    "input_size of 2 numbers": (lambda d: adaptive(d, size=(4, 4)), "input_size: expected 3 to 4 dimensions, got 2"),
    "empty stride of an unpooling": (lambda d: unpool(d, stride=[]), "stride: expected [3] values, got 0"),
    "empty padding of an unpooling": (lambda d: unpool(d, padding=[]), "padding: expected [3] values, got 0"),
    "output_size of 2 numbers": (lambda d: unpool(d, output_size=(1, 4)), "output_size: expected [3] values, got 2"),
    "output_size that wraps": (lambda d: unpool(d, output_size=(2**31 - 1,) * 3), "output_size: expected fewer than 2^63 elements"),
    "output_size of 0": (lambda d: unpool(d, output_size=(1, 0, 4)), "output_size: expected values from 1"),
    "3 paddings": (lambda d: pad(d, padding=[1, 1, 1]), "padding: expected [4] values, got 3"),
    "padding of 2^63 - 1": (lambda d: pad(d, padding=[2**63 - 1, 1, 1, 1]), "padding: expected values from -2147483648"),
    "paddings whose sum wraps": (lambda d: pad(d, padding=[HUGE, HUGE + 2, HUGE, HUGE]), "padding: expected values from"),
    "padded size below 1": (lambda d: pad(d, padding=[-1, -1, 1, 1]), "padding: expected a padded size of at least 1"),
}


@EVERY_DEVICE
@pytest.mark.parametrize(("call", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_list_that_does_not_fit_is_refused(device, call, message):
    with pytest.raises(RuntimeError) as caught:
        call(device)
    assert message in str(caught.value)


@EVERY_DEVICE
def test_one_value_stands_for_both_directions(device):
    result = avg(device, kernel=[2], stride=[2], padding=[0])
    assert result.shape == (1, 1, 4, 4)
    assert device == "meta" or bool((result == 0.25).all())


def results(device):
    """For each operator: a call that writes into `out`, an input, and a good result."""
    f = {"device": device}
    vector, count = torch.ones(2, **f), torch.ones(1, dtype=torch.int32, **f)
    grad, index = torch.ones(2, 2, 2, 2, **f), torch.zeros(1, 1, 1, 1, 2, dtype=torch.int64, **f)
    unpooled, padded = torch.ones(1, 1, 1, 1, 4, **f), torch.ones(2, 2, 3, 3, **f)
    return {
        "avg_pool2d": (lambda out, g=grad: ops.avg_pool2d_backward.out(g, (2, 2, 4, 4), (2, 2), out=out), grad, (2, 2, 4, 4)),
        "adaptive_avg_pool2d": (lambda out, g=grad: ops.adaptive_avg_pool2d_backward.out(g, (2, 2, 4, 4), out=out), grad, (2, 2, 4, 4)),
        "replication_pad2d": (
            lambda out, g=padded: ops.replication_pad2d_backward.out(g, (2, 2, 2, 2), (0, 1, 0, 1), out=out), padded, (2, 2, 2, 2),
        ),
        "max_unpool3d": (
            lambda out, g=unpooled: ops.max_unpool3d_backward.out(g, index, (1, 1, 4), (1, 1, 2), (0, 0, 0), out=out),
            unpooled, (1, 1, 1, 1, 2),
        ),
        "batch_norm_elemt": (
            lambda out, g=grad: ops.batch_norm_elemt_backward.out(g, grad, vector, vector, vector, vector, vector, count, out=out),
            grad, (2, 2, 2, 2),
        ),
    }  # fmt: skip


OPERATORS = ["avg_pool2d", "adaptive_avg_pool2d", "replication_pad2d", "max_unpool3d", "batch_norm_elemt"]


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_result_may_not_share_memory_with_itself(device, operator):
    call, _, size = results(device)[operator]
    out = torch.zeros(64, device=device).as_strided(size, (0,) * len(size))
    with pytest.raises(RuntimeError, match=f"{operator}_backward: out: expected elements that do not share memory"):
        call(out)


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_result_may_not_share_memory_with_an_input(device, operator):
    call, grad, size = results(device)[operator]
    memory = torch.ones(256, device=device)
    given = memory.as_strided(grad.shape, grad.stride(), 3)
    out = memory.as_strided(size, torch.empty(size).stride(), 5)
    with pytest.raises(RuntimeError, match=f"{operator}_backward: out: expected memory of its own, got memory that is also that of grad_"):
        call(out, given)
    call(memory.as_strided(size, torch.empty(size).stride(), 3 + grad.numel()), given)  # next to each other


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_result_that_is_a_conjugate_view_is_refused(device):
    grad = torch.ones(1, 4, 4, dtype=torch.complex64, device=device)
    with pytest.raises(RuntimeError, match="out: expected a tensor of plain numbers, got a conjugate or negative view"):
        ops.replication_pad2d_backward.out(grad, (1, 2, 2), (1, 1, 1, 1), out=torch.empty_like(grad).conj())
