"""Plain entry points, those that torch_npu leaves to other products among them: each against its definition in float64."""

import itertools
import math
from ctypes import c_float, c_int

import pytest
import torch
import torch_npu

from cases import DEVICE, FLOATS, drawn
from direct import call, compare, failure, fraction, refusal, scalar
from support.marks import CUBE_MATH_TYPE

INVALID = 161002
FIVE, WHOLE = (torch.float32, torch.float16), (torch.int32, torch.int64)


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def derivative(function, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0]


def gated_gradient(grad, x):
    plain, gate = x.chunk(2, 1)
    return torch.cat([grad * gelu(gate), grad * plain * derivative(gelu, gate)], 1)


def selu(x):
    return 1.0507009873554805 * torch.where(x > 0, x, 1.6732632423543772 * torch.expm1(x))


def norms(x, y, p):
    return torch.stack([torch.stack([(a - b).abs().pow(p).sum(-1).pow(1 / p) for b in y.unbind(-2)], -1) for a in x.unbind(-2)], -2)


def largest(x, y):
    return (x[..., :, None, :] - y[..., None, :, :]).abs().amax(-1)


def distance_gradient(grad, x, y, distance):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(distance(x, y), x, grad)[0]


def normalised(x, weight, bias):
    return (x - x.mean(-1, True)) / (x.var(-1, correction=0, keepdim=True) + 1e-3).sqrt() * weight + bias


def squares(x, y):
    """The squared distances from each point of x to those of y."""
    return (x.unsqueeze(-2) - y.unsqueeze(-3)).square().sum(-1)


def masked_softmax(x, mask):
    weights = (0.5 * x).exp() * ~mask
    return weights / weights.sum(-1, keepdim=True)


POSITIVE = [drawn(3, 4, 6).abs() + 0.1]
X, XY, POINTS = [drawn(3, 4, 6)], [drawn(3, 4, 6), drawn(3, 4, 6).flip(0)], [drawn(2, 3, 5), drawn(4, 5)]
LINE, EDGES = torch.tensor([-2.0, -0.5, 0.0, 0.5, 3.0], dtype=torch.float64), torch.tensor([-1.0, 0.0, 0.5, 2.0], dtype=torch.float64)
MASK = torch.tensor([[True, False, False, True], [False] * 4, [False, True, True, False]])
# The entry point, its inputs in float64, the arguments before the outputs, the definition, and the data types.
ROWS = [
    ("aclnnSelu", X, lambda x: (x,), selu, FLOATS),
    ("aclnnSelu", X, lambda x: (x,), lambda x: selu(x).trunc(), (torch.int32,)),
    ("aclnnSwish", X, lambda x: (x, fraction(1.5)), lambda x: x / (1 + torch.exp(-1.5 * x)), FLOATS),
    ("aclnnSwish", X, lambda x: (x, None), lambda x: x / (1 + torch.exp(-x)), FLOATS),
    (
        "aclnnSwishBackward",
        XY,
        lambda g, x: (g, x, fraction(1.5)),
        lambda g, x: g * derivative(lambda x: x / (1 + torch.exp(-1.5 * x)), x),
        FLOATS,
    ),
    ("aclnnShrink", X, lambda x: (x, fraction(0.5), fraction(0.25)), lambda x: x.sign() * (x.abs() - 0.25) * (x.abs() > 0.5), FIVE),
    ("aclnnHeaviside", [LINE, EDGES[1:2]], lambda *x: x, lambda x, y: (x > 0) + (x == 0) * y, FLOATS),
    ("aclnnGeluMul", X, lambda x: (x, b"tanh"), lambda x: gelu(x[..., :3]) * x[..., 3:], FLOATS),
    ("aclnnGeluMul", X, lambda x: (x, None), lambda x: x[..., :3] * 0.5 * (1 + torch.erf(x[..., :3] / 2**0.5)) * x[..., 3:], FLOATS),
    (
        "aclnnGeGluBackward",
        [drawn(3, 2, 6), drawn(3, 4, 6)],
        lambda g, x: (g, x, gelu(x.chunk(2, 1)[1].double()).to(x.dtype), 1, 1),
        gated_gradient,
        (torch.float32,),
    ),
    ("aclnnSquaredRelu", X, lambda x: (x,), lambda x: x**2 * (x > 0), FLOATS),
    (
        "aclnnFatreluMul",
        [LINE.repeat(2, 2), torch.full((1,), 0.5, dtype=torch.float64)],
        lambda x, t: (x, t),
        lambda x, t: LINE * (t <= LINE) * x[:, 5:],
        FLOATS,
    ),
    (
        "aclnnMaxN",
        [drawn(3, 4), drawn(4).flip(0), drawn(3, 1)],
        lambda *x: (x,),
        lambda x, y, z: torch.stack(torch.broadcast_tensors(x, y, z)).amax(0),
        (*FLOATS, *WHOLE),
    ),
    ("aclnnReduceLogSum", POSITIVE, lambda x: (x, [0, -1], True, False), lambda x: x.sum((0, 2), True).log(), FIVE),
    ("aclnnReduceLogSum", POSITIVE, lambda x: (x, [], False, False), lambda x: x.sum().log(), FIVE),
    ("aclnnReduceLogSum", POSITIVE, lambda x: (x, [], False, True), lambda x: x, FIVE),
    (
        "aclnnLogdet",
        [drawn(4, 3, 3) @ drawn(4, 3, 3).mT + 5 * torch.eye(3)],
        lambda x: (x,),
        lambda x: torch.linalg.det(x).log(),
        (torch.float32, torch.float64),
    ),
    ("aclnnLogdet", [torch.ones(2, 2, dtype=torch.float64)], lambda x: (x,), lambda x: torch.tensor(-math.inf), (torch.float32,)),
    *[
        (
            "aclnnAdaLayerNorm",
            [drawn(3, 4, 6), rows, rows.flip(0), drawn(6), drawn(6).flip(0)],
            lambda *x: (*x, 1e-3),
            lambda x, s, t, w, b: normalised(x, w, b) * (1 + s.view(3, 1, 6)) + t.view(3, 1, 6),
            FLOATS,
        )
        for rows in (drawn(3, 6), drawn(3, 1, 6))
    ],
    (
        "aclnnChamferDistanceBackward",
        [drawn(2, 4, 2), drawn(2, 3, 2).flip(0), drawn(2, 4), drawn(2, 3)],
        lambda x, y, g, h: (x, y, *(d.argmin(-1).int() for d in (squares(x, y), squares(y, x))), g, h),
        lambda x, y, g, h: torch.autograd.grad(
            (squares(p := x.requires_grad_(), q := y.requires_grad_()).amin(-1) * g).sum() + (squares(q, p).amin(-1) * h).sum(), (p, q)
        ),
        (torch.float32, torch.float64),
    ),
    ("aclnnCircularPad2d", X, lambda x: (x, [2, 1, 0, 3]), lambda x: x[:, [*range(4), *range(3)]][:, :, [4, 5, *range(6), 0]], FLOATS),
    ("aclnnCircularPad2d", X, lambda x: (x, [0, -1, 1, 0]), lambda x: x[:, [3, *range(4)], :-1], (torch.int32,)),
    ("aclnnBucketize", [LINE, EDGES], lambda x, b: (x, b, False, False), lambda x, b: (x[:, None] > b).sum(1), FLOATS),
    ("aclnnBucketize", [LINE, EDGES], lambda x, b: (x, b, False, True), lambda x, b: (x[:, None] >= b).sum(1), FLOATS),
    ("aclnnCdist", POINTS, lambda x, y: (x, y, c_float(3), 0), lambda x, y: norms(x, y, 3), FLOATS),
    ("aclnnCdist", POINTS, lambda x, y: (x, y, c_float(math.inf), 2), largest, FLOATS),
    *[
        (
            "aclnnCdistBackward",
            [drawn(2, 3, 4), *POINTS],
            lambda g, x, y, p=p, d=d: (g, x, y, d(x, y), c_float(p)),
            lambda g, x, y, d=d: distance_gradient(g, x, y, d),
            (torch.float32, torch.float64),
        )
        for p, d in ((3, lambda x, y: norms(x, y, 3)), (1, lambda x, y: norms(x, y, 1)), (-1, largest))
    ],
    ("aclnnConfusionTranspose", X, lambda x: (x, [1, 0], [12, 6], False), lambda x: x.reshape(12, 6).t(), (*FLOATS, *WHOLE)),
    ("aclnnConfusionTranspose", X, lambda x: (x, [2, 0, 1], [6, 12], True), lambda x: x.movedim(2, 0).reshape(6, 12), FLOATS),
    (
        "aclnnStridedSlice",
        X,
        lambda x: (x, [1, 1, -4], [2, 3, -1], [1, 1, 2], 1, 2, 0, 0, 0),
        lambda x: x[:2, 1:, -4:-1:2],
        (*FLOATS, *WHOLE),
    ),
    ("aclnnScaledMaskedSoftmax", [drawn(2, 3, 4)], lambda x: (x, MASK.to(DEVICE), 0.5, False), lambda x: masked_softmax(x, MASK), FLOATS),
    (
        "aclnnScaledMaskedSoftmaxBackward",
        [drawn(2, 3, 4), drawn(2, 3, 4).flip(0)],
        lambda g, x: (g, masked_softmax(x.double(), MASK.to(DEVICE)).to(x.dtype), MASK.to(DEVICE), 0.5, False),
        lambda g, x: g * 0 + torch.autograd.grad(masked_softmax(leaf := x.requires_grad_(), MASK), leaf, g)[0],
        (torch.float32,),
    ),
    (
        "aclnnBinaryCrossEntropyWithLogitsTargetBackward",
        [drawn(3, 4), drawn(3, 4).flip(0), drawn(3, 4).abs(), drawn(4).abs(), drawn(1, 4).abs()],
        lambda g, x, y, w, p: (g, x, y, w, p, 0),
        lambda g, x, y, w, p: -g * w * (p * torch.log(torch.sigmoid(x)) - torch.log(1 - torch.sigmoid(x))),
        FLOATS,
    ),
    (
        "aclnnBinaryCrossEntropyWithLogitsTargetBackward",
        [drawn(1), drawn(3, 4), drawn(3, 4).abs()],
        lambda g, x, y: (g, x, y, None, None, 1),
        lambda g, x, y: -g / 12 * x,
        FLOATS,
    ),
]


@pytest.mark.parametrize(("name", "inputs", "arguments", "definition", "dtypes"), ROWS, ids=[row[0] for row in ROWS])
def test_it_is_what_its_definition_says(name, inputs, arguments, definition, dtypes):
    compare(name, inputs, arguments, definition, dtypes)


NUMBER = {
    "AddScalar": (1, lambda x, n: x + n),
    "SubScalar": (1, lambda x, n: x - n),
    "MulScalar": (1, lambda x, n: x * n),
    "DivScalar": (1, lambda x, n: x / n),
    "PowScalar": (1, lambda x, n: x**n),
    "MaximumScalar": (1, lambda x, n: x.clamp(min=n)),
    "MinimumScalar": (1, lambda x, n: x.clamp(max=n)),
    "AddList": (2, lambda x, y, n: x + n * y),
    "SubList": (2, lambda x, y, n: x - n * y),
    "AddcmulScalar": (3, lambda x, y, z, n: x + n * y * z),
    "AddcdivScalar": (3, lambda x, y, z, n: x + n * y / z),
    "AddcmulList": (3, lambda x, y, z, n: x + n * y * z),
    "AddcdivList": (3, lambda x, y, z, n: x + n * y / z),
}


@pytest.mark.parametrize(("name", "dtype"), [*zip(NUMBER, itertools.cycle(FLOATS), strict=False)], ids=str)
def test_foreach_with_a_number_in_a_tensor(name, dtype):
    count, definition = NUMBER[name]
    lists = [[(drawn(n, 3) + 1 + i).abs().to(dtype) for n in (1, 2, 5)] for i in range(count)]
    outs = tuple(torch.empty(one.shape, dtype=dtype, device=DEVICE) for one in lists[0])
    there = [tuple(one.to(DEVICE) for one in members) for members in lists]
    number = torch.full((3 if name.startswith("Addc") and name.endswith("List") else 1,), 1.5, dtype=dtype, device=DEVICE)
    call(f"aclnnForeach{name}", *there, number, outs)
    for out, *members in zip(outs, *lists, strict=True):
        torch.testing.assert_close(out.cpu(), definition(*(one.double() for one in members), 1.5).to(dtype))


@pytest.mark.parametrize(("mode", "function"), [(1, torch.round), (2, torch.floor), (3, torch.ceil), (5, torch.trunc), (7, torch.frac)])
def test_foreach_rounding(mode, function):
    values, out = drawn(3, 4).float(), torch.empty(3, 4, device=DEVICE)
    call("aclnnForeachRoundOffNumber", (values.to(DEVICE),), torch.tensor([mode], dtype=torch.int8, device=DEVICE), (out,))
    assert torch.equal(out.cpu(), function(values))


def test_an_unknown_mode_of_rounding_is_refused():
    mode = torch.tensor([4], dtype=torch.int8, device=DEVICE)
    code, message = failure("aclnnForeachRoundOffNumber", (torch.ones(2, device=DEVICE),), mode, (torch.ones(2, device=DEVICE),))
    assert code == INVALID and "roundMode: expected 1 round, 2 floor, 3 ceil, 5 trunc or 7 frac, got 4" in message, message


def test_in_place():
    values = drawn(3, 4).float()
    results = [values.to(DEVICE) for _ in range(2)]
    call("aclnnInplaceSelu", results[0])
    call("aclnnInplaceCumprod", results[1], scalar(1))
    expected = [selu(values.double()), torch.stack([values[:, : i + 1].double().prod(1) for i in range(4)], 1)]
    torch.testing.assert_close([one.cpu() for one in results], [one.float() for one in expected])
    halves = torch.tensor([-2.5, -1.5, 0.5, 1.5, 2.7])
    results = [halves.to(DEVICE) for _ in range(2)]
    call("aclnnInplaceRound", results[0])
    call("aclnnInplaceTrunc", results[1])
    assert results[0].tolist() == [-2, -2, 0, 2, 3] and results[1].tolist() == [-2, -1, 0, 1, 2]
    bits = [torch.arange(6, device=DEVICE) for _ in range(2)]
    call("aclnnInplaceBitwiseOrTensor", bits[0], torch.tensor([1, 2, 4, 1, 2, 4], device=DEVICE))
    call("aclnnInplaceBitwiseOrScalar", bits[1], scalar(2))
    assert [one.tolist() for one in bits] == [[1, 3, 6, 3, 6, 5], [2, 3, 2, 3, 6, 7]]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sum_of_products_in_place(dtype):
    values, a, b = (one.to(dtype) for one in (drawn(3, 5), drawn(2, 3, 4), drawn(2, 4, 5)))
    there = values.to(DEVICE)
    call("aclnnInplaceAddbmm", there, a.to(DEVICE), b.to(DEVICE), fraction(0.5), fraction(2), CUBE_MATH_TYPE)
    torch.testing.assert_close(there.cpu(), (0.5 * values.double() + 2 * (a.double() @ b.double()).sum(0)).to(dtype))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_layer_norm_in_each_mode(mode):
    x, out = drawn(3, 4, 6).float(), torch.empty(3, 4, 6, device=DEVICE)
    call("aclnnLayerNormWithImplMode", x.to(DEVICE), [6], None, None, 1e-3, out, None, None, c_int(mode))
    normal = (x.double() - x.double().mean(-1, True)) / (x.double().var(-1, correction=0, keepdim=True) + 1e-3).sqrt()
    torch.testing.assert_close(out.cpu(), normal.float())


@pytest.mark.parametrize("dtype", FIVE, ids=str)
def test_signs_in_bits(dtype):
    """The example of op-plugin's page of npu_sign_bits_pack, and back."""
    numbers = torch.tensor([5, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2], dtype=dtype)
    packed, unpacked = torch.empty(2, 1, dtype=torch.uint8, device=DEVICE), torch.empty(2, 8, dtype=dtype, device=DEVICE)
    call("aclnnSignBitsPack", numbers.to(DEVICE), 2, packed)
    assert packed.tolist() == [[159], [15]]
    call("aclnnSignBitsUnpack", packed.flatten(), 2, c_int(0 if dtype == torch.float32 else 1), unpacked)
    assert unpacked.flatten().tolist() == [1 if n >= 0 else -1 for n in numbers.tolist()] + [-1, -1]


@pytest.mark.parametrize(
    "dtype", [*FLOATS, torch.float64, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool], ids=str
)
def test_random_numbers_of_the_whole_type(dtype):
    numbers, again = (torch.zeros(4000, dtype=dtype, device=DEVICE) for _ in range(2))
    call("aclnnInplaceRandomWithoutFromTo", numbers, 5, 9)
    five, four = (torch.tensor([n], device=DEVICE) for n in (5, 4))
    call("aclnnInplaceRandomWithoutFromToTensor", again, five, four, 5)
    assert torch.equal(numbers, again)
    digits = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8, torch.float64: 53}
    top = 2 ** digits[dtype] if dtype.is_floating_point else 1 if dtype == torch.bool else torch.iinfo(dtype).max
    shares = numbers.double().cpu() / top
    assert shares.min() >= 0 and shares.max() <= 1 and abs(shares.mean() - 0.5) < 0.03  # of bool eight standard deviations are 0.06


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_exponential(dtype):
    numbers = torch.empty(20000, dtype=dtype, device=DEVICE)
    call("aclnnSimThreadExponential", numbers, 20000, 2.0, 3, 8)
    shares = 1 - torch.exp(-2 * numbers.cpu().double())
    counts = torch.histc(shares, 10, 0, 1)
    assert shares.min() >= 0 and (counts - 2000).abs().max() < 250
    assert torch_npu.npu_sim_exponential_(torch.zeros(100, dtype=dtype, device=DEVICE)).cpu().gt(0).all()
    code, message = refusal("aclnnSimThreadExponential", numbers, 20000, 0.0, 3, 8)
    assert code == INVALID and "lambd: expected" in message


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.bool], ids=str)
def test_bernoulli(dtype):
    of_one, of_each, in_place = (torch.zeros(4000, 2, dtype=dtype, device=DEVICE) for _ in range(3))
    call("aclnnBernoulli", of_each, fraction(0.25), 5, 7, of_one)
    call("aclnnBernoulliTensor", of_one, torch.tensor([0.25, 1], device=DEVICE), 5, 7, of_each)
    call("aclnnInplaceBernoulli", in_place, fraction(0.25), 5, 7)
    assert set(of_one.long().unique().tolist()) == {0, 1} and abs(of_one.double().mean().item() - 0.25) < 0.02
    assert torch.equal(of_one[:, 0], of_each[:, 0]) and of_each[:, 1].bool().all() and torch.equal(of_one, in_place)


@pytest.mark.parametrize("p", [0.25, 0.0, 1.0])
def test_dropout(p):
    x, mask = drawn(40, 100).float(), torch.zeros(512, dtype=torch.uint8, device=DEVICE)
    out = torch.empty(40, 100, device=DEVICE)
    call("aclnnDropoutV3", x.to(DEVICE), None, p, 5, 7, out, mask)
    kept = torch.tensor([[byte >> bit & 1 for bit in range(8)] for byte in mask.tolist()]).flatten().bool()[:4000].reshape(40, 100)
    assert abs(kept.double().mean().item() - 1 + p) < 0.03
    torch.testing.assert_close(out.cpu(), torch.where(kept, x / (1 - p), 0) if p < 1 else torch.zeros(40, 100))


@pytest.mark.parametrize("nesterov", [False, True])
def test_adam(nesterov):
    state, grad = [drawn(3, 4).float(), drawn(3, 4).float() / 4, drawn(3, 4).float().abs()], drawn(3, 4).flip(0).float()
    lr, beta1, beta2, epsilon, power1, power2 = 0.1, 0.9, 0.99, 1e-3, 0.9**3, 0.99**3
    there = [one.to(DEVICE) for one in state]
    numbers = [torch.tensor([n], device=DEVICE) for n in (power1, power2, lr, beta1, beta2, epsilon)]
    call("aclnnApplyAdam", *there, *numbers, grad.to(DEVICE), False, nesterov)
    m = beta1 * state[1].double() + (1 - beta1) * grad
    v = beta2 * state[2].double() + (1 - beta2) * grad.double() ** 2
    direction = beta1 * m + (1 - beta1) * grad if nesterov else m
    var = state[0] - lr * math.sqrt(1 - power2) / (1 - power1) * direction / (v.sqrt() + epsilon)
    torch.testing.assert_close([one.cpu() for one in there], [one.float() for one in (var, m, v)])


@pytest.mark.parametrize(("amsgrad", "maximize"), [(False, False), (True, True)])
def test_adamw(amsgrad, maximize):
    """Against torch's own: the powers are those of the step before."""
    start, grads = drawn(3, 4).float(), [drawn(3, 4).flip(i).float() for i in (0, 1)]
    expected, largest = [start.clone(), start * 0, start * 0], start * 0
    there, most = [one.to(DEVICE) for one in expected], torch.zeros(3, 4, device=DEVICE)
    settings = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.2, "eps": 1e-3, "amsgrad": amsgrad, "maximize": maximize}
    for i, grad in enumerate(grads):
        parameter, *moments = ([one] for one in expected)
        torch._fused_adamw_(parameter, [grad], *moments, [largest] if amsgrad else [], [torch.tensor(i + 1.0)], **settings)
        numbers = [torch.tensor([n], device=DEVICE) for n in (0.9**i, 0.99**i, 0.1, 0.2, 0.9, 0.99, 1e-3)]
        call("aclnnApplyAdamW", *there, *numbers, grad.to(DEVICE), most if amsgrad else None, amsgrad, maximize)
        most = torch.maximum(most, there[2])
    torch.testing.assert_close([one.cpu() for one in there], expected)
