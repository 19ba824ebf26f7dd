"""Results have the same bits in each size, though large ones are written around the caches and small ones have loops of their own."""

import math

import torch_aclnn  # noqa: F401
import pytest
import torch
from torch.ops import torch_aclnn as ops

from support.last_cache import count_beyond_the_cache
from support.layouts import LAYOUTS
from support.pages import copy_before_unreadable_page
from support.samples import awkward_values, bits
from support.sized_cases import CASES, CHANNELS, HEIGHT, WIDTH, gradient_of


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
    """Of a gradient beyond the cache; an index behind the last one would lie in a page that cannot be read."""
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


SMALL_WINDOWS = {
    "equal to their step": {"kernel_size": [3, 2], "stride": [3, 2]},
    "with gaps": {"kernel_size": [2, 1], "stride": [3, 2]},
    "padded": {"kernel_size": [4, 3], "stride": [4, 3], "padding": [2, 1]},
    "padded, counting cells": {"kernel_size": [4, 3], "stride": [4, 3], "padding": [2, 1], "count_include_pad": False},
    "partial": {"kernel_size": [3, 4], "stride": [3, 5], "ceil_mode": True},
    "partial, counting cells": {"kernel_size": [3, 4], "stride": [3, 5], "padding": [1, 2], "ceil_mode": True, "count_include_pad": False},
    "of another divisor": {"kernel_size": [3, 3], "stride": [3, 3], "divisor_override": -3},
    "overlapping": {"kernel_size": [4, 5], "stride": [3, 3], "padding": [2, 1]},
    "overlapping, counting cells": {
        "kernel_size": [2, 7],
        "stride": [3, 4],
        "padding": [1, 3],
        "ceil_mode": True,
        "count_include_pad": False,
    },
    "overlapping in rows": {"kernel_size": [5, 3], "stride": [1, 4], "divisor_override": 7},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", SMALL_WINDOWS)
def test_small_planes_have_the_bits_of_many(name, dtype, layout):
    arguments = SMALL_WINDOWS[name]
    forward = {"padding": 0, "ceil_mode": False, "count_include_pad": True, "divisor_override": None, **arguments}
    shape = torch.nn.functional.avg_pool2d(torch.empty(64, 3, 11, 13), **forward).shape
    gradient = layout(awkward_values(*shape, dtype=dtype))
    many = ops.avg_pool2d_backward(gradient, [64, 3, 11, 13], **arguments)
    few = torch.cat([ops.avg_pool2d_backward(part, [1, 3, 11, 13], **arguments) for part in gradient.split(1)])
    assert torch.equal(bits(few), bits(many))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_small_planes_beyond_the_cache_have_the_bits_of_few(dtype):
    """Planes of 128 bytes to 2 KiB are written around the caches; those of 20 samples, whose number no group divides, are not."""
    count = count_beyond_the_cache((3, 11, 13), dtype)
    gradient = awkward_values(count, 3, 5, 6, dtype=dtype)
    many = ops.avg_pool2d_backward(gradient, [count, 3, 11, 13], [3, 2], [2, 2])
    for first in (0, count // 2, count - 20):
        few = ops.avg_pool2d_backward(gradient[first : first + 20], [20, 3, 11, 13], [3, 2], [2, 2])
        assert torch.equal(bits(few), bits(many[first : first + 20])), f"samples from {first} on"


@pytest.mark.parametrize("size", [(1, 1), (11, 1), (1, 13), (11, 13)])
def test_small_planes_of_adaptive_windows_apart_have_the_bits_of_many(size):
    gradient = awkward_values(64, 3, *size, dtype=torch.float32)
    many = ops.adaptive_avg_pool2d_backward(gradient, [64, 3, 11, 13])
    few = torch.cat([ops.adaptive_avg_pool2d_backward(part, [1, 3, 11, 13]) for part in gradient.split(1)])
    assert torch.equal(bits(few), bits(many))


# By a gradient of planes, few of which are made row by row, and many by tables of their cells.
TABLES = {
    "replication_pad2d": lambda g: ops.replication_pad2d_backward(g, [*g.shape[:2], 9, 30], [1, 5, 2, 8]),
    "reflection_pad2d": lambda g: ops.reflection_pad2d_backward(g, [*g.shape[:2], 9, 30], [1, 5, 2, 8]),
    "adaptive_avg_pool3d": lambda g: ops.adaptive_avg_pool3d_backward(g.unflatten(2, (1, -1)), [*g.shape[:2], 3, 31, 17]),
    "adaptive_avg_pool3d of large volumes": lambda g: ops.adaptive_avg_pool3d_backward(g.unflatten(2, (1, -1)), [*g.shape[:2], 40, 31, 17]),
    "adaptive_avg_pool3d of small volumes": lambda g: ops.adaptive_avg_pool3d_backward(
        g[..., :4, :2].unflatten(2, (2, 2)), [*g.shape[:2], 5, 3, 5]
    ),
    "adaptive_avg_pool3d of small volumes, windows apart": lambda g: ops.adaptive_avg_pool3d_backward(
        g[..., :4, :2].unflatten(2, (2, 2)), [*g.shape[:2], 6, 4, 4]
    ),
    "adaptive_avg_pool3d, windows apart": lambda g: ops.adaptive_avg_pool3d_backward(
        g[..., :4, :9].unflatten(2, (2, 2)), [*g.shape[:2], 6, 4, 18]
    ),
    "adaptive_avg_pool2d": lambda g: ops.adaptive_avg_pool2d_backward(g, [*g.shape[:2], 31, 42]),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("samples", [12, 64, 200])
@pytest.mark.parametrize("name", TABLES)
def test_few_planes_have_the_bits_of_many(name, samples, dtype):
    gradient = awkward_values(samples, 2, 19, 36, dtype=dtype)
    few = torch.cat([TABLES[name](part) for part in gradient.split(1)])
    assert torch.equal(bits(few), bits(TABLES[name](gradient)))


def volumes_of_cells(gradient):
    gradient = gradient.contiguous(memory_format=torch.channels_last_3d)
    out = gradient.new_empty(*gradient.shape[:2], 3, 3, 2).to(memory_format=torch.channels_last_3d)
    ops.adaptive_avg_pool3d_backward.out(gradient, out.shape, out=out)
    return out


# By a gradient of few channels that are adjacent, many samples of which are made by tables of cells of all channels.
CELLS = {
    "avg_pool2d": lambda g: ops.avg_pool2d_backward(g, [*g.shape[:2], 12, 13], [3, 3], [2, 2], [1, 1], False, False),
    "avg_pool2d, windows apart": lambda g: ops.avg_pool2d_backward(g, [*g.shape[:2], 23, 28], [2, 3], [4, 4]),
    "adaptive_avg_pool2d": lambda g: ops.adaptive_avg_pool2d_backward(g, [*g.shape[:2], 11, 17]),
    "adaptive_avg_pool3d": lambda g: volumes_of_cells(g[..., :2, :2, None]),
    "replication_pad2d": lambda g: ops.replication_pad2d_backward(g, [*g.shape[:2], 4, 5], [1, 1, 2, 0]),
    "reflection_pad2d": lambda g: ops.reflection_pad2d_backward(g, [*g.shape[:2], 4, 5], [0, 2, 1, 1]),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("channels", [2, 3, 7])
@pytest.mark.parametrize("samples", [30, 300])
@pytest.mark.parametrize("name", CELLS)
def test_few_adjacent_channels_have_the_bits_of_separate_ones(name, samples, channels, dtype):
    gradient = awkward_values(samples, channels, 6, 7, dtype=dtype)
    together, each = CELLS[name](gradient.to(memory_format=torch.channels_last)), [CELLS[name](part) for part in gradient.split(1)]
    assert torch.equal(bits(together.contiguous()), bits(torch.cat(each)))


# The same of planes that are too large for such tables: one row of them after the other.
WIDE_CELLS = {
    "windows that slide": lambda g, size: ops.avg_pool2d_backward(g, size, [5, 5], [1, 1], [2, 1], False, False),
    "short windows that slide": lambda g, size: ops.avg_pool2d_backward(g, size, [2, 3], [1, 1], [1, 1]),
    "long windows that slide": lambda g, size: ops.avg_pool2d_backward(g, size, [3, 16], [1, 1], [1, 8]),
    "overlapping windows": lambda g, size: ops.avg_pool2d_backward(g, size, [3, 3], [2, 2], [1, 1], True),
    "windows apart": lambda g, size: ops.avg_pool2d_backward(g, size, [2, 2], [2, 3]),
    "adaptive windows": ops.adaptive_avg_pool2d_backward,
    "short adaptive windows": ops.adaptive_avg_pool2d_backward,
}
SIZES_OF_WIDE_CELLS = {
    "windows that slide": (29, 68),
    "short windows that slide": (30, 70),
    "long windows that slide": (29, 71),
    "overlapping windows": (15, 36),
    "short adaptive windows": (29, 66),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("channels", [2, 3, 4, 7, 8, 13, 16, 32, 33])
@pytest.mark.parametrize("samples", [1, 9])
@pytest.mark.parametrize("name", WIDE_CELLS)
def test_few_adjacent_channels_of_large_planes_have_the_bits_of_separate_ones(name, samples, channels, dtype):
    size = SIZES_OF_WIDE_CELLS.get(name, (14, 23))
    gradient, shape = awkward_values(samples, channels, *size, dtype=dtype), [samples, channels, 29, 70]
    together = WIDE_CELLS[name](gradient.to(memory_format=torch.channels_last), shape)
    assert torch.equal(bits(together.contiguous()), bits(WIDE_CELLS[name](gradient, shape)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("channels", [257, 5000])
@pytest.mark.parametrize("name", ["equal to their step", "with gaps", "padded, counting cells", "partial"])
def test_many_adjacent_channels_have_the_bits_of_separate_ones(name, channels, dtype):
    arguments = {"padding": 0, "ceil_mode": False, "count_include_pad": True, **SMALL_WINDOWS[name]}
    shape = torch.nn.functional.avg_pool2d(torch.empty(2, 1, 11, 13), **arguments).shape
    gradient = awkward_values(2, channels, *shape[2:], dtype=dtype)
    together = ops.avg_pool2d_backward(gradient.to(memory_format=torch.channels_last), [2, channels, 11, 13], **arguments)
    assert torch.equal(bits(together.contiguous()), bits(ops.avg_pool2d_backward(gradient, [2, channels, 11, 13], **arguments)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.complex64])
@pytest.mark.parametrize("padding", [[2, 2, 2, 2], [3, 4, 1, 0], [8, 0, 2, 1]], ids=str)
def test_short_padded_rows_that_a_table_sums_have_the_bits_of_few(padding, dtype, layout):
    left, right, top, bottom = padding
    size = (48, 10)
    gradient = layout(awkward_values(3, 3, size[0] + top + bottom, size[1] + left + right, dtype=dtype))
    each = [[ops.reflection_pad2d_backward(gradient[n : n + 1, c : c + 1], [1, 1, *size], padding) for c in range(3)] for n in range(3)]
    together = ops.reflection_pad2d_backward(gradient, [3, 3, *size], padding)
    assert torch.equal(bits(together.contiguous()), bits(torch.cat([torch.cat(planes, 1) for planes in each])))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("windows", [(3, 1), (4, 1), (3, 4), (3, 5)], ids=str)
def test_volumes_of_one_window_of_columns_have_the_bits_of_any_layout(windows, dtype):
    gradient = awkward_values(40, 2, *windows, 1, dtype=dtype)
    strided = gradient.new_empty(40, 2, 7, 5, 8, 3)[..., 1]
    dense = ops.adaptive_avg_pool3d_backward(gradient, [40, 2, 7, 8, 5])
    ops.adaptive_avg_pool3d_backward.out(gradient, [40, 2, 7, 8, 5], out=strided.transpose(-1, -2))
    assert torch.equal(bits(dense), bits(strided.transpose(-1, -2).contiguous()))


def with_gaps_between_samples(gradient):
    return torch.cat([gradient, gradient], 1)[:, : gradient.shape[1]]


@pytest.mark.parametrize("layout", [lambda g: g, with_gaps_between_samples, lambda g: g.transpose(0, 1).contiguous().transpose(0, 1)])
@pytest.mark.parametrize("shape", [(1200, 7, 2, 1), (8000, 1, 2, 1), (1, 8400, 2, 1)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_very_small_planes_that_are_made_together_have_the_bits_of_each(dtype, shape, layout):
    gradient = layout(awkward_values(*shape, dtype=dtype))
    size = [*shape[:2], 5, 4]
    each = torch.cat([ops.adaptive_avg_pool2d_backward(gradient[i : i + 1], [1, *size[1:]]) for i in range(0, shape[0], 97)])
    assert torch.equal(bits(ops.adaptive_avg_pool2d_backward(gradient, size)[::97]), bits(each))
