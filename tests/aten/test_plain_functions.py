"""Functions of torch and of torch_npu behind plain entry points: against torch's own on the CPU, or against a definition in float64."""

import pytest
import torch
import torch.nn.functional as F
import torch_npu

from cases import DEVICE, FLOATS, HALVES, LAYOUTS, constant, drawn, randn, rows, table, uniform, values
from direct import call

FLOAT = {"dtypes": (torch.float32,), "close": True}
ALL = {"dtypes": FLOATS, "layouts": LAYOUTS, "close": True, "upcast": True}


def positive_definite(x):
    return x @ x.mT + torch.eye(x.size(-1), device=x.device)


def chunks(*tensors):
    return torch._chunk_cat([tensors[0], tensors[1].flatten(), tensors[2]], 0, 3)


SCALE, ZERO = values([0.1, 0.25, 0.5, 0.3]), values([0, 1, -2, 3], dtype=torch.int32)
CASES = [
    *rows("logit", torch.logit, uniform(3, 4, low=0.05, high=0.95), **ALL, backward=True),
    *rows("logit-eps", lambda x: torch.logit(x, 0.1), uniform(3, 4, low=-0.2, high=1.2), **ALL, backward=True),
    *rows("cdist", lambda x, y: torch.cdist(x, y, 3.0), randn(2, 3, 5), randn(4, 5), **FLOAT, backward=True),
    *rows("cdist-2", torch.cdist, randn(2, 3, 5), randn(2, 4, 5), **FLOAT),
    *rows("chunk_cat", chunks, randn(5, 2), randn(2, 2), randn(1, 3, 2), dtypes=FLOATS),
    *rows("cholesky", lambda x: torch.linalg.cholesky(positive_definite(x)), randn(2, 4, 4), **FLOAT),
    *rows("cholesky-upper", lambda x: torch.linalg.cholesky(positive_definite(x), upper=True), randn(4, 4), **FLOAT),
    *rows("slogdet", torch.slogdet, randn(3, 4, 4), **FLOAT),
    *rows(
        "masked_softmax",
        lambda x, m: torch._masked_softmax(x, m.expand(x.shape).contiguous(), -1, 2),
        randn(2, 3, 4, 5),
        values([[False, True, False, False, True]]),
        **FLOAT,
    ),
    *rows("transform_bias_rescale_qkv", lambda x, b: torch._transform_bias_rescale_qkv(x, b, 2), randn(2, 3, 24), randn(24), **FLOAT),
    *rows(
        "fake_quantize_per_channel",
        lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 1, -8, 7),
        randn(3, 4, 5),
        constant(SCALE),
        ZERO,
        **FLOAT,
        backward=True,
    ),
    *rows(
        "fake_quantize_per_tensor",
        lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, s[:1], z[3:], 0, 15),
        randn(3, 4),
        constant(SCALE),
        ZERO,
        **FLOAT,
        backward=True,
    ),
    *rows("number-plus", lambda x: torch.add(torch.tensor(1.5), x, alpha=2), randn(3, 4), dtypes=FLOATS, close=True, rounded_once=True),
    *rows("hardswish-edges", F.hardswish, values([-3.0, 3.0, -2.9, 2.9, 0.0]), **FLOAT, backward=True),
]


@pytest.mark.filterwarnings("ignore")
@table(CASES)
def test_it_is_torchs(case):
    case.check()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_masked_scale(dtype):
    x, mask = drawn(3, 4).to(dtype), torch.arange(12).reshape(3, 4) % 3 > 0
    for kept in (mask, mask.byte(), mask.to(dtype)):
        found = torch._masked_scale(x.to(DEVICE), kept.to(DEVICE), 1.25)
        torch.testing.assert_close(found.cpu(), (x.double() * mask * 1.25).to(dtype))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gelu_mul(approximate, dtype):
    x = drawn(3, 4, 10).to(dtype)
    left, right = x.double().chunk(2, -1)
    expected = (F.gelu(left, approximate=approximate) * right).to(dtype)
    torch.testing.assert_close(torch_npu.npu_gelu_mul(x.to(DEVICE), approximate=approximate).cpu(), expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_softmax_with_biases(dtype):
    x, mask, bias = (one.to(dtype) for one in (drawn(2, 3, 2, 4, 5), drawn(1, 3, 1, 4, 5), drawn(1, 1, 2, 4, 5)))
    there = [one.to(DEVICE) for one in (x, mask, bias)]
    scores = 0.5 * x.double() + bias.double()
    with_mask = torch_npu.npu_masked_softmax_with_rel_pos_bias(*there, 0.5)
    without = torch_npu.npu_masked_softmax_with_rel_pos_bias(there[0], None, there[2], 0.5)
    torch.testing.assert_close(with_mask.cpu(), (scores + mask.double()).softmax(-1).to(dtype))
    torch.testing.assert_close(without.cpu(), scores.softmax(-1).to(dtype))


def test_rotation_by_a_matrix():
    x, cos, sin, matrix = drawn(2, 3, 4, 6), drawn(2, 1, 4, 6), drawn(2, 1, 4, 6), drawn(6, 6)
    x, cos, sin, matrix = (one.float() for one in (x, cos, sin, matrix))
    y = torch.empty(x.shape, device=DEVICE)
    call("aclnnRotaryPositionEmbeddingV2", *(one.to(DEVICE) for one in (x, cos, sin)), 0, matrix.to(DEVICE), y)
    expected = x.double() * cos.double() + x.double() @ matrix.double() * sin.double()
    torch.testing.assert_close(y.cpu(), expected.float())


def rotated(x, cos, sin, half):
    """Each pair of features (a, b) as the complex number a + ib, times cos + i sin."""
    pairs = torch.stack(x.chunk(2, -1), -1) if half else x.unflatten(-1, (-1, 2))
    turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * torch.complex(cos, sin))
    return torch.cat(turned.unbind(-1), -1) if half else turned.flatten(-2)


def embedded(x, positions, table, sections, half, in_turns):
    """Of one position for each section the feature takes that of the section that it is in."""
    angles = table.double()[positions]
    if positions.dim() == 2:
        section = [i % 3 if i < 3 * sections[1] else 0 for i in range(table.size(1) // 2)]
        section = section if in_turns else [s for s, n in enumerate(sections) for _ in range(n)]
        angles = torch.stack([angles[s, :, [i, i + len(section)]] for i, s in enumerate(section)], -1)
        angles = torch.cat([angles[:, 0], angles[:, 1]], -1)
    cos, sin = angles.unsqueeze(1).chunk(2, -1)
    heads = x.double().unflatten(-1, (-1, 8))
    size = table.size(1)
    return torch.cat([rotated(heads[..., :size], cos, sin, half), heads[..., size:]], -1).flatten(1).to(x.dtype)


SECTIONS = [(None, False), ((1, 1, 1), False), ((1, 1, 1), True), ((2, 0, 1), False), ((1, 0, 1, 1), False)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("half", [True, False], ids=["half", "interleave"])
@pytest.mark.parametrize(("sections", "in_turns"), SECTIONS)
def test_rotary_embedding_from_a_table(sections, in_turns, half, dtype):
    query, key, cache = (one.to(dtype) for one in (drawn(5, 24), drawn(5, 8), drawn(9, 6)))
    positions = torch.tensor([[3, 0, 8, 4, 1], [0, 2, 8, 5, 5], [7, 7, 0, 1, 2], [1, 2, 3, 4, 5]])
    positions = positions[: len(sections)] if sections else positions[0]
    there = [one.to(DEVICE) for one in (positions, query, key, cache)]
    expected = [embedded(x, positions, cache, sections, half, in_turns) for x in (query, key)]
    modes = {"rotary_mode": "half" if half else "interleave", "cache_mode": "interleave" if in_turns else "default"}
    found = torch_npu.npu_mrope(*there, 8, mrope_section=list(sections or (0, 0, 0)), **modes)
    torch.testing.assert_close([one.cpu() for one in found], expected)
    if not in_turns:
        outs = [torch.empty_like(one) for one in there[1:3]]
        call("aclnnRopeWithSinCosCache", *there, list(sections or (0, 0, 0)), 8, half, *outs)
        torch.testing.assert_close([one.cpu() for one in outs], expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gather_and_add_of_rows(dtype):
    x, index, source = drawn(4, 3).to(dtype), torch.tensor([[2, 0, 2], [1, 2, 3]]), drawn(3, 3, seed=6).to(dtype)
    gathered = torch_npu.npu_gather_sparse_index(x.to(DEVICE), index.to(DEVICE))
    assert torch.equal(gathered.cpu(), x[index])
    added = torch.ops.npu._npu_index_add(x.to(DEVICE), index[0].to(DEVICE), source.to(DEVICE), alpha=1)
    expected = x.index_add(0, index[0], source)
    torch.testing.assert_close(added.cpu(), expected)
    in_place = x.to(DEVICE)
    torch.ops.npu._npu_index_add_(in_place, index[0].to(DEVICE), source.to(DEVICE), alpha=1)
    torch.testing.assert_close(in_place.cpu(), expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gradient_of_added_layer_norm(dtype):
    x1, x2, gamma, dy, dsum = (
        one.to(dtype) for one in (drawn(2, 3, 8), drawn(2, 3, 8, seed=6), drawn(8), drawn(2, 3, 8, seed=7), drawn(2, 3, 8))
    )
    total = x1.double() + x2.double()
    total.requires_grad_()
    weight, bias = gamma.double().requires_grad_(), torch.zeros(8, dtype=torch.float64, requires_grad=True)
    y = F.layer_norm(total, (8,), weight, bias, 1e-5)
    expected = torch.autograd.grad((y * dy.double()).sum() + (total * dsum.double()).sum(), (total, weight, bias))
    mean, variance = total.detach().mean(-1, keepdim=True), total.detach().var(-1, correction=0, keepdim=True)
    there = [one.to(DEVICE) for one in (dy, x1, x2, (variance + 1e-5).rsqrt().float(), mean.float(), gamma, dsum)]
    dx, _, dgamma, dbeta = torch.ops.npu.npu_add_layer_norm_backward(*there)
    limit = {} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 2e-2}
    torch.testing.assert_close(dx.cpu(), expected[0].to(dtype), **limit)
    torch.testing.assert_close([dgamma.cpu(), dbeta.cpu()], [one.float() for one in expected[1:]], rtol=1e-3, atol=1e-3)


def test_next_step_of_generation():
    """As vLLM has it: requests behind those that were asked for are padding."""
    tokens, positions, slots = (torch.full((4,), 9, device=DEVICE) for _ in range(3))
    lengths = torch.tensor([3, 4, 7, 5], device=DEVICE)
    blocks = torch.tensor([[10, 11], [20, 21], [30, 31], [40, 41]], device=DEVICE)
    sampled = torch.tensor([[51], [52], [53]], device=DEVICE)
    torch_npu.npu_advance_step_flashattn(tokens, sampled, positions, lengths, slots, blocks, 4, 3, 4)
    assert tokens.tolist() == [51, 52, 53, 0] and positions.tolist() == [3, 4, 7, 0] and lengths.tolist() == [4, 5, 8, 5]
    assert slots.tolist() == [10 * 4 + 3, 21 * 4, 31 * 4 + 3, -1]


def test_next_step_of_speculation():
    """Each request goes on after its last accepted token, with what is speculated next."""
    tokens, lengths, slots = (torch.zeros(4, dtype=torch.int64, device=DEVICE) for _ in range(3))
    positions = torch.tensor([2, 3, 5, 6], device=DEVICE)
    sampled, next_ones = torch.tensor([[51, -1], [61, 62]], device=DEVICE), torch.tensor([[7], [8]], device=DEVICE)
    blocks = torch.tensor([[10, 11, 12], [20, 21, 22]], device=DEVICE)
    accepted = torch.tensor([0, 1], device=DEVICE)
    torch_npu.npu_advance_step_flashattn(
        tokens, sampled, positions, lengths, slots, blocks, 2, 2, 4, spec_token=next_ones, accepted_num=accepted
    )
    assert tokens.tolist() == [51, 7, 62, 8] and positions.tolist() == [3, 4, 7, 8] and lengths.tolist() == [4, 5, 8, 9]
    assert slots.tolist() == [43, 44, 21 * 4 + 3, 22 * 4]


@pytest.mark.parametrize("dtype", [*HALVES, torch.int8], ids=str)
@pytest.mark.parametrize("axis", [-2, -1])
def test_updates_of_a_list(axis, dtype):
    caches = [torch.arange(24).reshape(2, 4, 3).to(dtype) + i for i in range(3)]
    updates = -torch.ones((3, 2, 2, 3) if axis == -2 else (3, 2, 4, 1), dtype=dtype)
    places, mask = torch.tensor([1, 0, 2], dtype=torch.int32), torch.tensor([1, 0, 1], dtype=torch.uint8)
    found = torch_npu.npu_scatter_list(
        [c.to(DEVICE) for c in caches], places.to(DEVICE), updates.to(DEVICE), mask.to(DEVICE), "update", axis
    )
    for cache, place, chosen in zip(caches, places.tolist(), mask.tolist(), strict=True):
        if chosen:
            cache.narrow(axis, place, updates.size(axis)).fill_(-1)
    assert all(torch.equal(one.cpu(), cache) for one, cache in zip(found, caches, strict=True))
