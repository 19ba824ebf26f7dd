"""Results that are written around the caches as they are computed: they begin, and end rows, anywhere in a cache line."""

import math

import torch_aclnn  # noqa: F401
import pytest
import torch
from torch.ops import torch_aclnn as ops

from support.last_cache import count_beyond_the_cache

pytestmark = pytest.mark.large


def result_within(first, shape, dtype, memory_format):
    """Return a tensor that begins `first` elements behind a cache line, and a check that nothing around it was written."""
    result_of = torch.empty(shape, dtype=dtype, device="meta").contiguous(memory_format=memory_format)
    memory = torch.zeros(first + result_of.numel() + 1, dtype=dtype)

    def check():
        assert not memory[:first].any() and memory[-1] == 0

    return memory[first:-1].as_strided(shape, result_of.stride()), check


@pytest.mark.parametrize("first", [0, 7])
@pytest.mark.parametrize("size", [(5, 3, 7), (7, 11, 29), (13, 21, 50)])
@pytest.mark.parametrize(
    ("dtype", "grad_dtype"), [(torch.float16, torch.float32), (torch.bfloat16, torch.bfloat16), (torch.float32, torch.float32)]
)
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_batch_norm_beyond_the_cache_ends_rows_within_lines(memory_format, dtype, grad_dtype, size, first):
    """Rows of channels begin and end anywhere in a cache line, and so does the result."""
    count = count_beyond_the_cache(size, dtype)
    input = torch.randn(count, *size, dtype=dtype).contiguous(memory_format=memory_format)
    grad_out = torch.randn(count, *size).to(grad_dtype).contiguous(memory_format=memory_format)
    statistics = [torch.linspace(0.5, 1.5, size[0])] * 5
    result, check_nothing_else_written = result_within(first, input.shape, dtype, memory_format)
    ops.batch_norm_elemt_backward.out(grad_out, input, *statistics, torch.tensor([7.0]), out=result)
    parts = zip(grad_out.chunk(4), input.chunk(4), strict=True)
    expected = torch.cat([ops.batch_norm_elemt_backward(*part, *statistics, torch.tensor([7.0])) for part in parts])
    assert torch.equal(result, expected)
    check_nothing_else_written()


@pytest.mark.parametrize("size", [(5, 4, 7), (9, 11, 29), (37, 21, 23)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.complex64])
@pytest.mark.parametrize("name", ["replication_pad2d", "reflection_pad2d"])
def test_padding_of_wide_cells_beyond_the_cache_ends_rows_within_lines(name, dtype, size):
    """A cell is all channels of channels-last tensors, or a complex number."""
    memory_format = torch.contiguous_format if dtype.is_complex else torch.channels_last
    backward, (channels, height, width) = getattr(ops, f"{name}_backward"), size
    shape, padding = (count_beyond_the_cache(size, dtype), *size), [1, 2, 2, 1]
    grad_output = torch.randn(shape[0], channels, height + 3, width + 3, dtype=dtype).contiguous(memory_format=memory_format)
    result, check_nothing_else_written = result_within(3, shape, dtype, memory_format)
    backward.out(grad_output, shape, padding, out=result)
    expected = torch.cat([backward(part, [len(part), *size], padding) for part in grad_output.chunk(8)])
    assert torch.equal(result, expected)
    check_nothing_else_written()


@pytest.mark.parametrize("name", ["batch_norm_elemt", "replication_pad2d", "reflection_pad2d"])
def test_large_results_may_begin_within_an_element(name):
    """Memory that torch did not allocate begins anywhere; an instruction that writes around the caches takes whole elements only."""
    channels, height, width = size = (9, 11, 29)
    channels_last = torch.channels_last
    shape = (count_beyond_the_cache(size, torch.float32), *size)
    memory = bytearray(4 * math.prod(shape) + 1)
    result = torch.frombuffer(memory, dtype=torch.float32, offset=1)
    result = result.as_strided(shape, torch.empty(shape, device="meta").contiguous(memory_format=channels_last).stride())
    if name == "batch_norm_elemt":
        grad_output = torch.randn(shape).contiguous(memory_format=channels_last)
        arguments = [grad_output.flip(0), *[torch.linspace(0.5, 1.5, channels)] * 5, torch.tensor([7.0])]
    else:
        grad_output = torch.randn(shape[0], channels, height + 3, width + 3).contiguous(memory_format=channels_last)
        arguments = [shape, [1, 2, 2, 1]]
    backward = getattr(ops, f"{name}_backward")
    backward.out(grad_output, *arguments, out=result)
    assert torch.equal(result, backward(grad_output, *arguments))


@pytest.mark.parametrize("channels", [133, 333, 4200])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("window", [(2, 2, 0), (2, 3, 0), (3, 3, 1), (5, 5, 2)], ids=str)
def test_pooling_of_wide_cells_beyond_the_cache_ends_cells_within_lines(window, dtype, channels):
    """Each window's cell is copied to several places, and nothing is copied to gaps between windows."""
    kernel, step, padding = window
    size, pooling = (channels, 11, 13), ([kernel] * 2, [step] * 2, [padding] * 2, False, True, None)
    shape = (count_beyond_the_cache(size, dtype), *size)
    pooled = torch.nn.functional.avg_pool2d(torch.empty(1, *size, device="meta"), *pooling).shape[1:]
    grad_output = torch.randn(shape[0], *pooled, dtype=dtype).contiguous(memory_format=torch.channels_last)
    result, check_nothing_else_written = result_within(3, shape, dtype, torch.channels_last)
    ops.avg_pool2d_backward.out(grad_output, shape, *pooling, out=result)
    expected = torch.cat([ops.avg_pool2d_backward(part, [len(part), *size], *pooling) for part in grad_output.chunk(4)])
    assert torch.equal(result, expected)
    check_nothing_else_written()
