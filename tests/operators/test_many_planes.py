"""Many small planes, which are made together, have the bits of few, which are made row by row."""

from collections.abc import Callable

import torch_aclnn  # noqa: F401
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from torch.ops import torch_aclnn as ops

from support.samples import Draw, awkward_values, bits

FEW = 3
Backward = Callable[..., Tensor]  # takes a gradient and the result's shape, and maybe `out`


def draw_avg_pool2d(draw: Draw) -> tuple[tuple[int, ...], tuple[int, ...], Backward]:
    """Return the sizes of a plane and of its gradient, and the operator with the arguments that lead from one to the other."""
    size = draw(st.tuples(st.integers(1, 14), st.integers(1, 14)))
    kernel = [draw(st.integers(1, min(5, length))) for length in size]
    stride = [draw(st.integers(1, 4)) for _ in size]
    padding = [draw(st.integers(0, length // 2)) for length in kernel]
    rest = (draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from([None, -3])))
    small = F.avg_pool2d(torch.empty(1, 1, *size), kernel, stride, padding, *rest).shape[2:]
    return size, small, lambda grad, shape, **out: operator("avg_pool2d", out)(grad, shape, kernel, stride, padding, *rest, **out)


def draw_adaptive(draw: Draw, dims: int, longest: int) -> tuple[tuple[int, ...], tuple[int, ...], Backward]:
    size, small = (draw(st.tuples(*[st.integers(1, longest)] * dims)) for _ in range(2))
    return size, small, lambda grad, shape, **out: operator(f"adaptive_avg_pool{dims}d", out)(grad, shape, **out)


def draw_padding(draw: Draw, name: str, limit: Callable[[int], int]) -> tuple[tuple[int, ...], tuple[int, ...], Backward]:
    height, width = draw(st.tuples(st.integers(1, 14), st.integers(1, 14)))
    smallest = {length: -1 if length > 2 else 0 for length in (width, height)}  # a negative one crops
    padding = [draw(st.integers(smallest[length], limit(length))) for length in (width, width, height, height)]
    padded = (height + sum(padding[2:]), width + sum(padding[:2]))
    return (height, width), padded, lambda grad, shape, **out: operator(name, out)(grad, shape, padding, **out)


DRAWN = {
    "avg_pool2d": draw_avg_pool2d,
    "adaptive_avg_pool2d": lambda draw: draw_adaptive(draw, 2, 14),
    "adaptive_avg_pool3d": lambda draw: draw_adaptive(draw, 3, 6),
    "replication_pad2d": lambda draw: draw_padding(draw, "replication_pad2d", lambda length: 5),
    "reflection_pad2d": lambda draw: draw_padding(draw, "reflection_pad2d", lambda length: min(4, length - 1)),
}


def operator(name: str, out: dict[str, Tensor]) -> Callable[..., Tensor]:
    packet = getattr(ops, f"{name}_backward")
    return packet.out if out else packet.default


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("draw_case", DRAWN.values(), ids=DRAWN)
@settings(max_examples=40)
@given(data=st.data())
def test_many_planes_have_the_bits_of_few(draw_case, dtype, data):
    size, small, backward = draw_case(data.draw)
    samples, channels = data.draw(st.integers(1, 17)), data.draw(st.integers(6, 9))
    step, gap = data.draw(st.integers(1, 2)), data.draw(st.integers(0, 1))
    gradient = awkward_values(samples * step, channels, *small, dtype=dtype)[::step]
    many = torch.full((samples, channels + gap, *size), 7.0, dtype=dtype)
    backward(gradient, [samples, channels, *size], out=many[:, :channels])
    few = torch.cat([backward(part, [1, part.shape[1], *size]) for part in gradient.flatten(0, 1)[None].split(FEW, 1)], 1)
    assert torch.equal(bits(many[:, :channels].flatten(0, 1)), bits(few[0]))
    assert many[:, channels:].eq(7).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("count", [49, 57, 64])
def test_the_last_planes_of_memory_are_not_read_beyond(count, dtype):
    memory = awkward_values(count, 1, 1, 3, dtype=dtype)
    many = ops.adaptive_avg_pool2d_backward(memory, [count, 1, 2, 5])
    few = torch.cat([ops.adaptive_avg_pool2d_backward(part, [1, 1, 2, 5]) for part in memory.split(1)])
    assert torch.equal(bits(many), bits(few))
