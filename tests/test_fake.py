"""The meta kernels against the real ones: same sizes, strides, dtype and device, and a refusal where the others refuse."""

import torch_aclnn  # noqa: F401
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses import FakeTensorMode
from torch.utils._pytree import tree_map_only

import layouts
from marks import STRICT, host_engine_only

ops = torch.ops.torch_aclnn

small, dtypes = st.integers(1, 6), st.sampled_from([torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.int32])
if STRICT:  # what every document lists, and int32, which none does
    dtypes = st.sampled_from([torch.float32, torch.float16, torch.int32])


@st.composite
def tensors(draw, shape, dtype):
    """A tensor of nearly always this shape and dtype, in some layout."""
    shape = list(shape)
    if draw(st.integers(0, 15)) == 7:
        d = draw(st.integers(0, len(shape) - 1))
        shape[d : d + 1] = draw(st.sampled_from([[], [shape[d] + 1], [shape[d], 1]]))
    tensor = torch.ones(shape).to(dtype)
    return draw(st.sampled_from(layouts.LAYOUTS))(tensor) if tensor.dim() > 3 else tensor


def leading(draw, rank):
    return [draw(st.integers(0, 2)), draw(st.integers(1, 3))][-rank:]


@st.composite
def avg_pool2d(draw):
    kernel, stride, pad = ([draw(st.integers(*limits)) for _ in range(2)] for limits in ((1, 4), (1, 3), (0, 2)))
    size = [*leading(draw, draw(st.integers(1, 2))), draw(small), draw(small)]
    ceil = draw(st.booleans())
    out = [(s + 2 * p - k + (t - 1 if ceil else 0)) // t + 1 for s, k, t, p in zip(size[-2:], kernel, stride, pad, strict=True)]
    if ceil:
        out = [o - ((o - 1) * t >= s + p) for o, s, t, p in zip(out, size[-2:], stride, pad, strict=True)]
    grad = draw(tensors([*size[:-2], *(max(o, 0) for o in out)], draw(dtypes)))
    return ops.avg_pool2d_backward, (
        grad,
        size,
        kernel,
        stride,
        pad,
        ceil,
        draw(st.booleans()),
        draw(st.sampled_from([None, None, 3, -2, 0])),
    )


@st.composite
def adaptive_avg_pool2d(draw):
    planes = leading(draw, draw(st.integers(1, 2)))
    return ops.adaptive_avg_pool2d_backward, (
        draw(tensors([*planes, draw(small), draw(small)], draw(dtypes))),
        [*planes, draw(small), draw(small)],
    )


@st.composite
def replication_pad2d(draw):
    size = [*leading(draw, draw(st.integers(1, 2))), draw(small), draw(small)]
    most = [min(4, d - 1) if STRICT else 4 for d in (size[-1], size[-1], size[-2], size[-2])]
    left, right, top, bottom = pad = [draw(st.integers(-2, m)) for m in most]
    grad = draw(tensors([*size[:-2], max(size[-2] + top + bottom, 0), max(size[-1] + left + right, 0)], draw(dtypes)))
    return ops.replication_pad2d_backward, (grad, size, pad)


@st.composite
def max_unpool3d(draw):
    planes = leading(draw, draw(st.integers(1, 2)))
    size = [draw(small) for _ in range(3)]
    indices = draw(
        tensors(
            [*planes, *(draw(st.integers(1, 3)) for _ in range(3))], draw(st.sampled_from([torch.int64] * 4 + [torch.int32, torch.float32]))
        )
    )
    stride = [draw(st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 4])) for _ in range(3)]
    return ops.max_unpool3d_backward, (
        draw(tensors([*planes, *size], draw(st.sampled_from([torch.float32, torch.float16, torch.int32])))),
        indices * 0,
        size,
        stride,
        [0, 0, 0],
    )


@st.composite
def batch_norm_elemt(draw):
    shape = [draw(st.integers(1, 3)) for _ in range(draw(st.sampled_from([2, 3, 4, 5, 1])))]
    dtype, statistics = draw(dtypes), draw(dtypes)
    vectors = [draw(tensors([shape[1] if len(shape) > 1 else 1], statistics)) for _ in range(5)]
    weight = vectors.pop() if draw(st.booleans()) else None
    count = draw(
        st.sampled_from([torch.tensor([3, 5], dtype=torch.int32), torch.tensor(8.0), torch.ones(2, 2), torch.zeros(0), torch.tensor([8])])
    )
    full = [draw(tensors(shape, dtype)) for _ in range(2)]
    return ops.batch_norm_elemt_backward, (*full, vectors[0], vectors[1], weight, vectors[2], vectors[3], count)


def attempt(op, arguments):
    """Return what describes the result, or the error's type."""
    try:
        result = op(*arguments)
        if result.device.type == "npu" and not isinstance(result, torch._subclasses.FakeTensor):
            torch.npu.synchronize()
    except Exception as error:
        return type(error)
    # The strides of a tensor without elements mean nothing, and torch's own fake tensors do not keep them.
    return result.shape, result.stride() if result.numel() else None, result.dtype, result.device


@host_engine_only
@pytest.mark.parametrize("cases", [avg_pool2d, adaptive_avg_pool2d, replication_pad2d, max_unpool3d, batch_norm_elemt])
def test_meta_kernels_agree_with_the_real_ones(device, cases):
    outcomes = set()

    @settings(max_examples=80, deadline=None, derandomize=True)
    @given(call=cases())
    def agree(call):
        op, arguments = call
        arguments = tree_map_only(torch.Tensor, lambda t: t.to(device), arguments)
        real = attempt(op, arguments)
        with FakeTensorMode() as mode:
            fake = attempt(op, tree_map_only(torch.Tensor, mode.from_tensor, arguments))
        assert fake == real
        outcomes.add(isinstance(real, tuple))

    agree()
    assert outcomes == {True, False}  # both results and refusals were compared
