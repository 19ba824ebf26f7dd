"""transformer.cpp: what torch_npu offers under names of its own, and the same as C programs call it."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, FLOATS, HALVES, close, definitions, drawn, on_npu, there
from definitions import rms_norm, swiglu, taken_apart, turned

from direct import call

NPU = torch.ops.npu
X, XY = drawn(3, 4, 6), [drawn(3, 16), drawn(3, 16, seed=6)]
TURNED = [drawn(2, 3, 4, 64), drawn(2, 1, 4, 64), drawn(2, 1, 4, 64, seed=6)]
CHANNELS = [drawn(2, 6, 5), drawn(6), drawn(6, seed=6)]


def rstd(x, epsilon):
    return (x.square().mean(-1, True) + epsilon).rsqrt().float()


def added(x, y, gamma, epsilon):
    return rms_norm(x + y, gamma, epsilon=epsilon), rstd(x + y, epsilon), x + y


def group_norm(x, gamma, beta, activated):
    groups = x.view(2, 3, -1)
    statistics = groups.mean(-1).float(), (groups.var(-1, correction=0) + 1e-5).rsqrt().float()
    return activated(F.group_norm(x, 3, gamma, beta, 1e-5)), *statistics


def gated(x, left, mode):
    first, second = x.chunk(2, 1)
    return F.gelu(first, approximate=mode) * second if left else first * F.gelu(second, approximate=mode)


test_definitions = definitions(
    [
        (NPU.npu_rms_norm, [X, drawn(4, 6)], (1e-5,), lambda x, g: F.rms_norm(x, g.shape, g, 1e-5), FLOATS, True),
        (NPU.npu_add_rms_norm, [*XY, drawn(16)], (1e-5,), lambda x, y, g: added(x, y, g, 1e-5), FLOATS),
        (*(torch_npu.npu_add_rms_norm_cast, [*XY, drawn(16)], (1e-6,)), *(lambda x, y, g: ((n := added(x, y, g, 1e-6))[0], *n), HALVES)),
        (NPU.npu_gemma_rms_norm, [X, drawn(6)], (1e-5,), lambda x, g: (rms_norm(x, g + 1, epsilon=1e-5), rstd(x, 1e-5)), FLOATS),
        (NPU.npu_swiglu, [X], (1,), lambda x: swiglu(x.mT).mT, FLOATS, True),
        (NPU.npu_interleave_rope, TURNED, (), lambda x, *of: turned(taken_apart(x), *of), FLOATS),
        *[
            row
            for mode in ("half", "interleave")
            for row in (
                (
                    NPU.npu_rotary_mul,
                    [TURNED[0], *(one[:1] for one in TURNED[1:])],
                    (mode,),
                    lambda *x, m=mode: turned(*x, m),
                    FLOATS[:1],
                    True,
                ),
                (
                    *(torch_npu.npu_apply_rotary_pos_emb, [drawn(2, 3, 4, 128), *(drawn(2, 3, 1, 128, seed=i) for i in range(3))]),
                    *(("BSND", mode), lambda q, k, *of, m=mode: (turned(q, *of, m), turned(k, *of, m)), HALVES[:1]),
                ),
            )
        ],
        *[
            (NPU.npu_geglu, [X], (1, number, left), lambda x, left=left, mode=mode: gated(x, left, mode), FLOATS[:1], True)
            for number, mode in enumerate(("none", "tanh"))
            for left in (True, False)
        ],
        (NPU.npu_fast_gelu, [X], (), lambda x: x * torch.sigmoid(1.702 * x), FLOATS[:1], True),
        (NPU.npu_group_norm_silu, CHANNELS, (3, 1e-5), lambda *x: group_norm(*x, F.silu), FLOATS),
        (
            *(lambda x, g, b: torch_npu.npu_group_norm_swish(x, 3, g, b, eps=1e-5, swish_scale=1.3), CHANNELS, ()),
            *(lambda *x: group_norm(*x, lambda y: y * torch.sigmoid(1.3 * y))[:2], FLOATS, True),
        ),
    ]
)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_add_rms_norm_in_place(dtype):
    x, y, gamma = (one.to(dtype) for one in (*XY, drawn(16)))
    here = there(x, y)
    on_npu(torch_npu.npu_add_rms_norm_v2, *here, gamma, epsilon=1e-6)
    close(here, added(x.double(), y.double(), gamma, 1e-6)[::2])


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
    got = on_npu(NPU.npu_clipped_swiglu, x, group_index=groups, dim=dim, alpha=0.7, limit=1.0, bias=1.2, interleaved=interleaved)
    assert got.shape[dim] == x.shape[dim] // 2
    close(got.flatten(), exact.flatten())


@pytest.mark.parametrize("has_x", [False, True])
def test_gradients_that_nobody_wants_are_empty(has_x):
    """MindSpeed asks for the gradient of a rotary embedding in this way."""
    dy, cos, sin, x = (torch.randn(2, 3, 4, 64, device=DEVICE) for _ in range(4))
    dx, dcos, dsin = torch.empty_like(dy), torch.empty(0, device=DEVICE), torch.empty(0, device=DEVICE)
    call("aclnnRotaryPositionEmbeddingGrad", dy, cos, sin, x if has_x else None, 1, dx, dcos, dsin)
    product = dy * sin
    torch.testing.assert_close(dx, dy * cos - torch.stack((-product[..., 1::2], product[..., ::2]), -1).flatten(-2))
