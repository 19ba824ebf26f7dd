"""Where a gradient's elements lie: on npu as in the gradients of torch_npu's own operators, on cpu as in torch's."""

import torch_aclnn  # noqa: F401
import pytest
import torch

import layouts

ours, aten = torch.ops.torch_aclnn, torch.ops.aten
SIZE, POOLED, PADDED = (2, 3, 4, 6), (2, 3, 2, 3), (2, 3, 6, 8)

# The gradient's shape, our operator, and torch's.
PAIRS = {
    "avg_pool2d": (
        POOLED,
        lambda g, x: ours.avg_pool2d_backward(g, SIZE, (2, 2)),
        lambda g, x: aten.avg_pool2d_backward(g, x, (2, 2), (2, 2), (0, 0), False, True, None),
    ),
    "adaptive_avg_pool2d": (
        POOLED,
        lambda g, x: ours.adaptive_avg_pool2d_backward(g, SIZE),
        lambda g, x: aten._adaptive_avg_pool2d_backward(g, x),
    ),
    "replication_pad2d": (
        PADDED,
        lambda g, x: ours.replication_pad2d_backward(g, SIZE, (1, 1, 1, 1)),
        lambda g, x: aten.replication_pad2d_backward(g, x, (1, 1, 1, 1)),
    ),
    "batch_norm_elemt": (
        SIZE,
        lambda g, x: ours.batch_norm_elemt_backward(g, x, *statistics(x)),
        lambda g, x: aten.batch_norm_backward_elemt(g, x, *statistics(x)),
    ),
}


def statistics(x):
    vectors = [torch.ones(3, device=x.device) for _ in range(5)]
    return *vectors, torch.ones(1, dtype=torch.int32, device=x.device)


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
@pytest.mark.parametrize("name", PAIRS)
def test_gradients_on_npu_have_the_strides_of_torch_npu(name, layout):
    shape, our, their = PAIRS[name]
    gradient, x = layout(torch.randn(shape)).npu(), layout(torch.randn(SIZE)).npu()
    assert our(gradient, x).stride() == their(gradient, x).stride()


@pytest.mark.parametrize("name", ["avg_pool2d", "adaptive_avg_pool2d"])
def test_gradients_on_cpu_follow_channels_last_as_those_of_torch(name):
    shape, our, their = PAIRS[name]
    gradient, x = (torch.randn(s).to(memory_format=torch.channels_last) for s in (shape, SIZE))
    assert our(gradient, x).stride() == their(gradient, x).stride()
    assert our(gradient, x).is_contiguous(memory_format=torch.channels_last)
