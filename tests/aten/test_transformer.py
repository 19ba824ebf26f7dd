"""transformer.cpp: what torch_npu offers under names of its own, against the same in plain operators."""

import pytest
import torch
import torch.nn.functional as F

from cases import DEVICE, FLOATS, close, there
from direct import call


def compare(fused, plain, *shapes, dtype=torch.float32):
    """Results and gradients of `fused` on the NPU and of `plain` on the CPU, in float32."""
    inputs = [torch.randn(shape).to(dtype) for shape in shapes]
    there = [x.to(DEVICE).requires_grad_() for x in inputs]
    here = [x.float().requires_grad_() for x in inputs]
    got, expected = fused(*there), plain(*here)
    cotangent = torch.randn(expected.shape).to(dtype)
    grads = torch.autograd.grad(got, there, cotangent.to(DEVICE))
    close((got, *grads), (expected, *torch.autograd.grad(expected, here, cotangent.float())))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("gamma", [(6,), (4, 6)], ids=str)
def test_rms_norm(gamma, dtype):
    compare(
        lambda x, g: torch.ops.npu.npu_rms_norm(x, g, 1e-5)[0], lambda x, g: F.rms_norm(x, gamma, g, 1e-5), (3, 4, 6), gamma, dtype=dtype
    )


def test_add_rms_norm():
    x, y, gamma = torch.randn(3, 6), torch.randn(3, 6), torch.randn(6)
    normal, _, total = torch.ops.npu.npu_add_rms_norm(x.to(DEVICE), y.to(DEVICE), gamma.to(DEVICE), 1e-5)
    torch.testing.assert_close(total.cpu(), x + y)
    torch.testing.assert_close(normal.cpu(), F.rms_norm(x + y, (6,), gamma, 1e-5))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("dim", [-1, 1])
def test_swiglu(dim, dtype):
    def plain(x):
        gate, value = x.chunk(2, dim)
        return F.silu(gate) * value

    compare(lambda x: torch.ops.npu.npu_swiglu(x, dim), plain, (3, 4, 6), dtype=dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("dim", [-1, 1])
@pytest.mark.parametrize("interleaved", [True, False])
def test_clipped_swiglu(interleaved, dim, dtype):
    x, groups = torch.randn(3, 4, 6).to(dtype), torch.tensor([1, 1])
    merged = x.double().flatten(dim % 3)
    first, second = (merged[..., ::2], merged[..., 1::2]) if interleaved else merged.chunk(2, -1)
    first, second = first.clamp(max=1), second.clamp(-1, 1)
    exact = (first * torch.sigmoid(0.7 * first) * (second + 1.2)).flatten(0, -2)
    exact[2:] = 0
    got = torch.ops.npu.npu_clipped_swiglu(
        x.to(DEVICE), group_index=groups.to(DEVICE), dim=dim, alpha=0.7, limit=1.0, bias=1.2, interleaved=interleaved
    )
    assert got.shape[dim] == x.shape[dim] // 2
    close(got.flatten(), exact.flatten())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_interleave_rope(dtype):
    x, cos, sin = (torch.randn(shape).to(dtype) for shape in ((2, 3, 4, 64), (2, 1, 4, 64), (2, 1, 4, 64)))
    halves = torch.cat((x[..., ::2], x[..., 1::2]), -1).double()
    exact = halves * cos.double() + torch.cat((-halves[..., 32:], halves[..., :32]), -1) * sin.double()
    got = torch.ops.npu.npu_interleave_rope(x.to(DEVICE), cos.to(DEVICE), sin.to(DEVICE))
    close(got, exact)


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary_mul(mode):
    def plain(x, cos, sin):
        if mode == "half":
            first, second = x.chunk(2, -1)
            return x * cos + torch.cat((-second, first), -1) * sin
        return x * cos + torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * sin

    compare(lambda x, cos, sin: torch.ops.npu.npu_rotary_mul(x, cos, sin, mode), plain, (2, 3, 4, 64), (1, 1, 4, 64), (1, 1, 4, 64))


@pytest.mark.parametrize("has_x", [False, True])
def test_gradients_that_nobody_wants_are_empty(has_x):
    """As MindSpeed asks for the gradient of a rotary embedding."""
    dy, cos, sin, x = (torch.randn(2, 3, 4, 64, device=DEVICE) for _ in range(4))
    dx, dcos, dsin = torch.empty_like(dy), torch.empty(0, device=DEVICE), torch.empty(0, device=DEVICE)
    call("aclnnRotaryPositionEmbeddingGrad", dy, cos, sin, x if has_x else None, 1, dx, dcos, dsin)
    turned = dy * sin
    torch.testing.assert_close(dx, dy * cos - torch.stack((-turned[..., 1::2], turned[..., ::2]), -1).flatten(-2))


@pytest.mark.parametrize("mode", ["none", "tanh"])
@pytest.mark.parametrize("left", [True, False])
def test_geglu(left, mode):
    def plain(x):
        first, second = x.chunk(2, 1)
        return F.gelu(first, approximate=mode) * second if left else first * F.gelu(second, approximate=mode)

    compare(lambda x: torch.ops.npu.npu_geglu(x, 1, int(mode == "tanh"), left)[0], plain, (3, 4, 6))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_group_norm_silu(dtype):
    x, gamma, beta = torch.randn(2, 6, 4, 3).to(dtype), torch.randn(6).to(dtype), torch.randn(6).to(dtype)
    got = torch.ops.npu.npu_group_norm_silu(*there(x, gamma, beta), 3, 1e-5)
    normal, *statistics = torch.native_group_norm(x.float(), gamma.float(), beta.float(), 2, 6, 12, 3, 1e-5)
    close(got, (F.silu(normal), *statistics))


def test_fast_gelu():
    compare(torch.ops.npu.npu_fast_gelu, lambda x: x * torch.sigmoid(1.702 * x), (3, 4))
