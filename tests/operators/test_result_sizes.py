"""Results beyond the caches, which are written around them, have the bits of small ones; huge sizes of few elements cost nothing."""

import math

import torch_aclnn  # noqa: F401
import pytest
import torch
from torch.ops import torch_aclnn as ops

from support.last_cache import count_beyond_the_cache
from support.pages import copy_before_unreadable_page
from support.samples import awkward_values, bits
from support.sized_cases import CASES, CHANNELS, HEIGHT, WIDTH, gradient_of
from support.subprocesses import output_of


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("name", CASES)
def test_large_results_have_the_bits_of_small_ones(name, dtype, channels_last):
    size, backward = CASES[name]
    count = count_beyond_the_cache((CHANNELS, HEIGHT, WIDTH), dtype)
    gradient = gradient_of(count, size, dtype, channels_last)
    large = backward(gradient)
    for sample in (0, count // 2, count - 1):
        assert torch.equal(large[sample : sample + 1], backward(gradient[sample : sample + 1])), f"sample {sample}"


@pytest.mark.parametrize("channels", [5, 40])
def test_rows_of_channels_are_read_ahead_within_their_indices(channels):
    """The gradient is beyond the cache, and an index behind the last one would lie in a page that cannot be read."""
    size = (8, 9, 10)
    count = count_beyond_the_cache((channels, *size), torch.float16)
    gradient = torch.randn(count, channels, *size, dtype=torch.float16).to(memory_format=torch.channels_last_3d)
    indices = torch.randint(math.prod(size), (count, 2, 3, 2, channels))
    with copy_before_unreadable_page(indices) as copy:
        result = ops.max_unpool3d_backward(gradient, copy.permute(0, 4, 1, 2, 3), list(size), [4, 3, 5], [0, 0, 0])
    expected = gradient.flatten(2).gather(2, indices.permute(0, 4, 1, 2, 3).flatten(2)).view_as(result)
    assert torch.equal(result, expected)


def test_the_first_index_outside_a_large_gradient_is_reported():
    """Few channels are rows of the loop then, and the first in its order is not the first in that of the indices."""
    channels, size = 7, (8, 9, 10)
    count = count_beyond_the_cache((channels, *size), torch.float16)
    gradient = torch.zeros(count, channels, *size, dtype=torch.float16).to(memory_format=torch.channels_last_3d)
    indices = torch.zeros(count, 2, 3, 2, channels, dtype=torch.int64).permute(0, 4, 1, 2, 3)
    indices[1, 5, 0, 0, 0] = indices[1, 4, 1, 2, 1] = math.prod(size)
    with pytest.raises(RuntimeError, match=r"indices: expected values below .* got 720 at position \[1, 4, 1, 2, 1\]"):
        ops.max_unpool3d_backward(gradient, indices, list(size), [4, 3, 5], [0, 0, 0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_small_planes_beyond_the_cache_have_the_bits_of_few(dtype):
    """Planes of 128 bytes to 2 KiB are written around the caches; those of 20 samples, whose number no group divides, are not."""
    count = count_beyond_the_cache((3, 11, 13), dtype)
    gradient = awkward_values(count, 3, 5, 6, dtype=dtype)
    many = ops.avg_pool2d_backward(gradient, [count, 3, 11, 13], [3, 2], [2, 2])
    for first in (0, count // 2, count - 20):
        few = ops.avg_pool2d_backward(gradient[first : first + 20], [20, 3, 11, 13], [3, 2], [2, 2])
        assert torch.equal(bits(few), bits(many[first : first + 20])), f"samples from {first} on"


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
    assert int(output_of(code)) < 64  # MiB


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
