"""Further entry points that C++ programs call and torch_npu does not: a row each, with its definition in float64."""

import pytest
import torch

from cases import DEVICE, FLOATS, HALVES, drawn
from direct import call, compare, failure, fraction
from support.marks import CUBE_MATH_TYPE

FIVE, WHOLE = (torch.float32, torch.float16), (torch.int32, torch.int64)
MASK = torch.tensor([0b10110] + [0] * 15, dtype=torch.uint8, device=DEVICE)
PLACES = torch.tensor([[2, 1], [0, 3]], device=DEVICE)


def selu_gradient(grad, result):
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return grad * torch.where(result > 0, scale, result + alpha * scale)


def shifted_sums(x, exclusive, reverse):
    rows = x.flip(1) if reverse else x
    sums = torch.stack([rows[:, : i + (not exclusive)].sum(1) for i in range(x.size(1))], 1)
    return sums.flip(1) if reverse else sums


def window_gradient(grad, step):
    """Of windows of two elements along the middle one of the dimensions 3, 4 and 5."""
    out = torch.zeros(3, 4, 5, dtype=torch.float64)
    for i in range(grad.size(1)):
        out[:, i * step : i * step + 2] += grad[:, i].mT
    return out


X, XY, LISTED = [drawn(3, 4, 5)], [drawn(3, 4, 5), drawn(3, 4, 5).flip(0)], [drawn(3, 4, 5), drawn(4, 1), drawn(1, 1, 5)]
ROW, MATRIX, PAIR = [drawn(5)], [drawn(4, 5)], [drawn(4), drawn(5)]
ATTENTION, FACTORS = [drawn(2, 4, 6, 8) / 4 for _ in range(3)], [drawn(2, 3, 4, 5), drawn(2, 3, 4, 6, 5)]
# The entry point, its inputs in float64, the arguments before the output, the definition, and the data types.
ROWS = [
    ("aclnnDigamma", [drawn(3, 5).abs() + 0.1], lambda x: (x,), torch.digamma, FIVE),
    ("aclnnLgamma", X, lambda x: (x,), torch.lgamma, FIVE),
    ("aclnnVar", X, lambda x: (x, [0, -1], True, False), lambda x: x.var((0, 2)), FLOATS),
    ("aclnnVar", X, lambda x: (x, None, False, True), lambda x: x.var((0, 1, 2), correction=0, keepdim=True), FLOATS),
    ("aclnnMeanV2", X, lambda x: (x, [1], True, False), lambda x: x.mean(1, keepdim=True), FLOATS),
    ("aclnnMeanV2", X, lambda x: (x, [], False, False), torch.mean, FLOATS),
    ("aclnnMeanV2", X, lambda x: (x, [], False, True), lambda x: x, FLOATS),
    ("aclnnMeanV2", X, lambda x: (x, [0], False, False), lambda x: x.mean(0).trunc(), WHOLE),
    *[
        ("aclnnCumsumV2", X, lambda x, e=e, r=r: (x, 1, e, r), lambda x, e=e, r=r: shifted_sums(x, e, r), (*FLOATS, *WHOLE))
        for e in (False, True)
        for r in (False, True)
    ],
    ("aclnnSum", LISTED, lambda *x: (x,), lambda x, y, z: x + y + z, (*FIVE, torch.int32)),
    ("aclnnSeluBackward", XY, lambda x, y: (x, y), selu_gradient, FLOATS),
    ("aclnnDiag", ROW, lambda x: (x, 2), lambda x: torch.diag(x, 2), (*FLOATS, *WHOLE)),
    ("aclnnDiag", MATRIX, lambda x: (x, -1), lambda x: torch.stack([x[i + 1, i] for i in range(3)]), (*FLOATS, *WHOLE)),
    ("aclnnFlatten", X, lambda x: (x, -2), lambda x: x.reshape(3, 20), (*FLOATS, *WHOLE)),
    ("aclnnFlatten", X, lambda x: (x, 0), lambda x: x.reshape(1, 60), FLOATS),
    ("aclnnUnfoldGrad", [drawn(3, 2, 5, 2)], lambda g: (g, [3, 4, 5], 1, 2, 2), lambda g: window_gradient(g, 2), FLOATS),
    ("aclnnUnfoldGrad", [drawn(3, 3, 5, 2)], lambda g: (g, [3, 4, 5], -2, 2, 1), lambda g: window_gradient(g, 1), FLOATS),
    ("aclnnGatherNd", X, lambda x: (x, PLACES, False), lambda x: torch.stack([x[2, 1], x[0, 3]]), (*FLOATS, *WHOLE)),
    ("aclnnGatherNd", X, lambda x: (x, -1 - PLACES[:, :1], True), lambda x: torch.stack([x[0], x[2]]), FLOATS),
    ("aclnnGather", ROW, lambda x: (x, 0, 1 - PLACES[0]), lambda x: torch.stack([x[-1], x[0]]), FLOATS),
    ("aclnnEinsum", PAIR, lambda *x: (x, b"a,b->ab"), lambda x, y: x[:, None] * y, (*FIVE, *WHOLE)),
    ("aclnnEinsum", FACTORS, lambda *x: (x, b"abcd,abced->abce"), lambda x, y: (x[:, :, :, None] * y).sum(-1), (*FIVE, *WHOLE)),
    ("aclnnUpsampleNearest1d", X, lambda x: (x, [7]), lambda x: x[:, :, [i * 5 // 7 for i in range(7)]], FLOATS),
    ("aclnnDropoutBackward", ROW, lambda x: (x, MASK, 2.0), lambda x: 2 * x * torch.tensor([0, 1, 1, 0, 1]), FLOATS),
    ("aclnnDropoutBackward", ROW, lambda x: (x, MASK, 1.0), lambda x: x, FLOATS),
    (
        "aclnnPromptFlashAttention",
        ATTENTION,
        lambda *x: (*x, None, None, None, 4, 0.5, 1 << 30, 1 << 30, b"BNSD", 4),
        lambda q, k, v: (0.5 * q @ k.mT).softmax(-1) @ v,
        HALVES,
    ),
]


@pytest.mark.parametrize(("name", "inputs", "arguments", "definition", "dtypes"), ROWS, ids=[row[0] for row in ROWS])
def test_it_is_what_its_definition_says(name, inputs, arguments, definition, dtypes):
    compare(name, inputs, arguments, definition, dtypes)


def test_infinities():
    values = torch.tensor([0.0, float("inf"), float("nan"), -float("inf")])
    out = torch.empty(4, dtype=torch.bool, device=DEVICE)
    call("aclnnIsInf", values.to(DEVICE), out)
    assert out.tolist() == [False, True, False, True]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_in_place(dtype):
    values, a, b = (one.to(dtype) for one in (drawn(2, 3, 5), drawn(2, 3, 4), drawn(2, 4, 5)))
    negative, product = values.to(DEVICE), values.to(DEVICE)
    call("aclnnInplaceNeg", negative)
    assert torch.equal(negative.cpu(), -values)
    call("aclnnInplaceBaddbmm", product, a.to(DEVICE), b.to(DEVICE), fraction(0.5), fraction(2), CUBE_MATH_TYPE)
    torch.testing.assert_close(product.cpu(), (0.5 * values.double() + 2 * a.double() @ b.double()).to(dtype))


@pytest.mark.parametrize("dtype", FIVE, ids=str)
@pytest.mark.parametrize("last", [False, True], ids=["NCHW", "NHWC"])
def test_instance_norm(last, dtype):
    x, gamma, beta = (one.to(dtype) for one in (drawn(2, 3, 4, 5), drawn(3), drawn(3)))
    mean, variance = x.double().mean((2, 3), keepdim=True), x.double().var((2, 3), correction=0, keepdim=True)
    normal = (x.double() - mean) / (variance + 1e-3).sqrt() * gamma.double().view(-1, 1, 1) + beta.double().view(-1, 1, 1)
    expected = [(one.movedim(1, -1) if last else one).to(dtype) for one in (normal, mean, variance)]
    outs = [torch.empty(one.shape, dtype=dtype, device=DEVICE) for one in expected]
    source = (x.movedim(1, -1).contiguous() if last else x).to(DEVICE)
    call("aclnnInstanceNorm", source, gamma.to(DEVICE), beta.to(DEVICE), b"NHWC" if last else b"NCHW", 1e-3, *outs)
    torch.testing.assert_close([out.cpu() for out in outs], expected)


def test_assigned_slice():
    var, value = torch.zeros(5, 6, 7), torch.arange(18.0).reshape(2, 3, 3)
    expected = var.clone()
    expected[1:5:3, :5:2, 3:6] = value
    target = var.to(DEVICE)
    call("aclnnStridedSliceAssignV2", target, value.to(DEVICE), [1, 0, -4], [99, 5, -1], [3, 2, 1], None)
    assert torch.equal(target.cpu(), expected)
    call("aclnnStridedSliceAssignV2", target, torch.ones(5, 2, 7, device=DEVICE), [4], [6], [1], [-2])
    expected[:, 4:6] = 1
    assert torch.equal(target.cpu(), expected)


def bits(mask):
    return torch.tensor([[byte >> bit & 1 for bit in range(8)] for byte in mask.tolist()]).flatten().bool()


@pytest.mark.parametrize(("p", "train"), [(0.25, True), (0.0, True), (1.0, True), (0.25, False)])
def test_dropout(p, train):
    x, mask = drawn(40, 100).float(), torch.zeros(512, dtype=torch.uint8, device=DEVICE)
    out, generated = torch.empty(40, 100, device=DEVICE), torch.zeros_like(mask)
    call("aclnnDropout", x.to(DEVICE), p, train, 5, 7, out, mask)
    if not train or p in (0, 1):
        assert torch.equal(out.cpu(), x * (p != 1 or not train)) and not mask.any()
        return
    kept = bits(mask)[:4000].reshape(40, 100)
    assert abs(kept.double().mean().item() - 0.75) < 0.03  # four standard deviations
    torch.testing.assert_close(out.cpu(), torch.where(kept, x / 0.75, 0))
    call("aclnnDropoutGenMask", [4000], p, 5, 7, generated)
    assert torch.equal(generated, mask)


def test_positions_from_the_end_are_refused_unless_asked_for():
    x, out = torch.zeros(3, 4, device=DEVICE), torch.zeros(2, 4, device=DEVICE)
    code, message = failure("aclnnGatherNd", x, -PLACES[:, :1], False, out)
    assert code == 507015 and "indices: expected values in [0, 3), got -2" in message, message
