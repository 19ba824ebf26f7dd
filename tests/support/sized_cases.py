"""The operators on float gradients of any number of samples, from one to more than the caches hold."""

import math

import torch_aclnn  # noqa: F401  (it must be imported before torch)
import torch
from torch.ops import torch_aclnn as ops

CHANNELS, HEIGHT, WIDTH = 8, 64, 65
STATISTICS = torch.linspace(0.5, 1.5, CHANNELS)


def every_second_depth(gradient):
    """Unpool by indices in the order of the gradient's elements, which are those of all rows of each second depth."""
    samples, channels, depth, *plane = gradient.shape
    indices = torch.arange(depth * math.prod(plane)).view(depth, *plane)[1::2].expand(samples, channels, -1, -1, -1)
    memory_format = torch.contiguous_format if gradient.is_contiguous() else torch.channels_last_3d
    return ops.max_unpool3d_backward(gradient, indices.contiguous(memory_format=memory_format), [depth, *plane], [2, 1, 1], [0] * 3)


# From a gradient of the result of the forward, N samples of it, and by sizes of a sample.
CASES = {
    "avg_pool2d": ((32, 33), lambda g: ops.avg_pool2d_backward(g, size_of(g), [3, 3], [2, 2], [1, 1])),
    "avg_pool2d, windows apart": ((16, 16), lambda g: ops.avg_pool2d_backward(g, size_of(g), [3, 3], [4, 4])),
    "adaptive_avg_pool2d": ((5, 7), lambda g: ops.adaptive_avg_pool2d_backward(g, size_of(g))),
    "adaptive_avg_pool2d, one window": ((1, 1), lambda g: ops.adaptive_avg_pool2d_backward(g, size_of(g))),
    "adaptive_avg_pool2d, windows of whole rows": ((7, 1), lambda g: ops.adaptive_avg_pool2d_backward(g, size_of(g))),
    "avg_pool2d, windows of whole rows": ((21, 1), lambda g: ops.avg_pool2d_backward(g, size_of(g), [3, WIDTH], [3, 1])),
    "adaptive_avg_pool3d": ((5, 7, 5), lambda g: ops.adaptive_avg_pool3d_backward(g, [*g.shape[:2], 13, 16, 20])),
    "replication_pad2d": ((67, 69), lambda g: ops.replication_pad2d_backward(g, size_of(g), [1, 3, 2, 1])),
    "reflection_pad2d": ((67, 69), lambda g: ops.reflection_pad2d_backward(g, size_of(g), [1, 3, 2, 1])),
    "max_unpool3d": (
        (16, 16, 20),
        lambda g: ops.max_unpool3d_backward(
            g, torch.arange(8 * 16 * 20).expand(*g.shape[:2], -1).view(*g.shape[:2], 8, 16, 20), [16, 16, 20], [2, 1, 1], [0] * 3
        ),
    ),
    "max_unpool3d, short planes": (
        (16, 16, 20),
        lambda g: ops.max_unpool3d_backward(
            g, torch.arange(0, 5120, 40).repeat(*g.shape[:2], 1).unflatten(2, (4, 4, 8)), [16, 16, 20], [4, 4, 2], [0] * 3
        ),
    ),
    "max_unpool3d, long rows of few channels": ((32, 16, 20), every_second_depth),
    "max_unpool3d, short rows of few channels": ((32, 40, 8), every_second_depth),
    "batch_norm_elemt": ((HEIGHT, WIDTH), lambda g: ops.batch_norm_elemt_backward(g, g.flip(-1), *[STATISTICS] * 5, torch.tensor([7.0]))),
}


def size_of(gradient):
    return [*gradient.shape[:2], HEIGHT, WIDTH]


def gradient_of(count, size, dtype, channels_last):
    gradient = torch.randn(count, CHANNELS, *size, dtype=dtype)
    if not channels_last:
        return gradient
    return gradient.to(memory_format=torch.channels_last if len(size) == 2 else torch.channels_last_3d)
