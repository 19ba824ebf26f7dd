"""Operators on each element, called by name, against Python's own functions in double precision."""

import math

import pytest
import torch

from support.dtypes import Format
from support.named_operators import Stored, run
from support.private_formats import in_memory

TYPES = (torch.float32, torch.float16, torch.bfloat16)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softplus(x):
    return math.log1p(math.exp(x))


# The operator, its definition, and the range of its arguments.
UNARY = {
    "Abs": (abs, -3, 3), "Acos": (math.acos, -1, 1), "Acosh": (math.acosh, 1, 4), "Asin": (math.asin, -1, 1),
    "Asinh": (math.asinh, -4, 4), "Atan": (math.atan, -4, 4), "Atanh": (math.atanh, -0.9, 0.9), "Ceil": (math.ceil, -4, 4),
    "Cos": (math.cos, -4, 4), "Cosh": (math.cosh, -3, 3), "Erf": (math.erf, -2, 2), "Erfc": (math.erfc, -2, 2), "Exp": (math.exp, -4, 4),
    "Expm1": (math.expm1, -2, 2), "Floor": (math.floor, -4, 4), "HardSigmoid": (lambda x: min(max(x / 6 + 0.5, 0), 1), -5, 5),
    "HardSwish": (lambda x: x * min(max(x / 6 + 0.5, 0), 1), -5, 5), "Log1p": (math.log1p, -0.5, 4),
    "LogSigmoid": (lambda x: -softplus(-x), -5, 5), "Mish": (lambda x: x * math.tanh(softplus(x)), -4, 4), "Neg": (lambda x: -x, -4, 4),
    "OnesLike": (lambda _: 1.0, -4, 4), "Reciprocal": (lambda x: 1 / x, 0.5, 4), "Relu": (lambda x: max(x, 0.0), -4, 4),
    "Rsqrt": (lambda x: x**-0.5, 0.5, 4), "Sigmoid": (sigmoid, -5, 5), "Sin": (math.sin, -4, 4), "Sinh": (math.sinh, -3, 3),
    "Selu": (lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)), -4, 4),
    "Sign": (lambda x: float((x > 0) - (x < 0)), -4, 4), "Sqrt": (math.sqrt, 0, 4), "Square": (lambda x: x * x, -4, 4),
    "Tan": (math.tan, -1, 1), "Tanh": (math.tanh, -4, 4), "Trunc": (math.trunc, -4, 4), "ZerosLike": (lambda _: 0.0, -4, 4),
    "Round": (round, -4, 4), "SoftplusV2": (softplus, -4, 4), "Swish": (lambda x: x * sigmoid(x), -4, 4),
    "Log": (math.log, 0.5, 4),
    "Gelu": (lambda x: x * (1 + math.erf(x / 2**0.5)) / 2, -4, 4), "FastGelu": (lambda x: x * sigmoid(1.702 * x), -4, 4),
    "Elu": (lambda x: x if x > 0 else math.expm1(x), -4, 4),
    "CeluV2": (lambda x: x if x > 0 else math.expm1(x), -4, 4), "LeakyRelu": (lambda x: max(x, 0.0), -4, 4),
    "HardShrink": (lambda x: x if abs(x) > 0.5 else 0.0, -4, 4),
    "SoftShrink": (lambda x: math.copysign(max(abs(x) - 0.5, 0), x) if abs(x) > 0.5 else 0.0, -4, 4),
}  # fmt: skip
BINARY = {
    "Add": lambda x, y: x + y, "Sub": lambda x, y: x - y, "Mul": lambda x, y: x * y, "RealDiv": lambda x, y: x / y,
    "FloorDiv": lambda x, y: x // y, "FloorMod": lambda x, y: x % y, "Mod": math.fmod, "Maximum": max, "Minimum": min,
    "Pow": lambda x, y: x**y, "Atan2": math.atan2, "Xlogy": lambda x, y: x * math.log(y),
    "LogAddExp": lambda x, y: math.log(math.exp(x) + math.exp(y)),
}  # fmt: skip
COMPARISONS = {
    "Equal": lambda x, y: x == y, "NotEqual": lambda x, y: x != y, "Less": lambda x, y: x < y, "LessEqual": lambda x, y: x <= y,
    "Greater": lambda x, y: x > y, "GreaterEqual": lambda x, y: x >= y, "LogicalAnd": lambda x, y: bool(x) and bool(y),
    "LogicalOr": lambda x, y: bool(x) or bool(y),
}  # fmt: skip
# With the gradient 1: the operator, whether the gradient comes first, the definition by the forward's input or result, and attributes.
BACKWARD = {
    "ReluGrad": (True, lambda x: float(x > 0), {}),
    "LeakyReluGrad": (True, lambda x: 1.0 if x > 0 else 0.25, {"negative_slope": 0.25}),
    "EluGradV2": (True, lambda x: 1.0 if x > 0 else math.exp(x), {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0, "is_result": False}),
    "HardSigmoidGrad": (True, lambda x: 1 / 6 if abs(x) < 3 else 0.0, {}),
    "HardSwishGrad": (True, lambda x: 0.0 if x < -3 else 1.0 if x > 3 else x / 3 + 0.5, {}),
    "SiluGrad": (True, lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))), {}),
    "SwishGrad": (True, lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))), {}),
    "MishGrad": (True, lambda x: math.tanh(softplus(x)) + x * sigmoid(x) * (1 - math.tanh(softplus(x)) ** 2), {}),
    "GeluGrad": (True, lambda x: (1 + math.erf(x / 2**0.5)) / 2 + x * math.exp(-x * x / 2) / (2 * math.pi) ** 0.5, {}),
    "FastGeluGrad": (True, lambda x: sigmoid(1.702 * x) * (1 + 1.702 * x * (1 - sigmoid(1.702 * x))), {}),
    "LogSigmoidGrad": (True, lambda x: sigmoid(-x), {}),
    "HardShrinkGrad": (True, lambda x: float(abs(x) > 0.5), {"lambd": 0.5}),
    "SoftShrinkGrad": (True, lambda x: float(abs(x) > 0.5), {"lambd": 0.5}),
    "SoftplusV2Grad": (True, sigmoid, {"beta": 1.0, "threshold": 20.0}),
    "ThresholdGradV2D": (True, lambda x: float(x > 0.3), {"threshold": 0.3}),
    "SigmoidGrad": (False, lambda y: y * (1 - y), {}),
    "TanhGrad": (False, lambda y: 1 - y * y, {}),
    "HardtanhGrad": (False, lambda x: float(-1 < x < 1), {"min_val": -1.0, "max_val": 1.0}),
}


def drawn(low, high, sizes=(3, 17)):
    return torch.rand(sizes, dtype=torch.float64) * (high - low) + low


def each(definition, *tensors):
    """Apply the definition to the elements, which broadcast."""
    tensors = torch.broadcast_tensors(*tensors)
    results = [definition(*elements) for elements in zip(*(t.reshape(-1).tolist() for t in tensors), strict=True)]
    return torch.tensor(results, dtype=torch.float64).reshape(tensors[0].shape)


def close(got, expected):
    """Compare with what was computed in double precision and is rounded once."""
    torch.testing.assert_close(got, expected.to(got.dtype), **({"rtol": 1e-5, "atol": 1e-6} if got.dtype == torch.float32 else {}))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary(acl, name, dtype):
    definition, low, high = UNARY[name]
    x = drawn(low, high).to(dtype)
    (got,) = run(acl, name, [x], [torch.empty_like(x)])
    close(got, each(definition, x))


def test_inverse_of_the_error_function(acl):
    x = drawn(-0.9, 0.9).float()
    (got,) = run(acl, "Erfinv", [x], [torch.empty_like(x)])
    close(each(math.erf, got).float(), x.double())


def test_finite_and_not(acl):
    x = torch.tensor([0.0, math.inf, -math.inf, math.nan, 3.0])
    assert run(acl, "IsFinite", [x], [torch.empty(5, dtype=torch.bool)])[0].tolist() == [True, False, False, False, True]
    assert run(acl, "LogicalNot", [x], [torch.empty(5, dtype=torch.bool)])[0].tolist() == [True, False, False, False, False]


@pytest.mark.parametrize(("base", "definition"), [(2.0, math.log2), (10.0, math.log10), (3.0, lambda x: math.log(x, 3))])
def test_logarithm_to_a_base(acl, base, definition):
    x = drawn(0.5, 4).float()
    (got,) = run(acl, "Log", [x], [torch.empty_like(x)], base=base, scale=2.0, shift=1.0)
    close(got, each(lambda v: definition(2 * v + 1), x))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary_broadcasts(acl, name, dtype):
    x, y = drawn(0.5, 4, (3, 1, 5)).to(dtype), drawn(0.5, 3, (4, 5)).to(dtype)
    (got,) = run(acl, name, [x, y], [torch.empty(3, 4, 5, dtype=dtype)])
    close(got, each(BINARY[name], x, y))


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison(acl, name):
    x, y = torch.tensor([0.0, 1.0, 2.0, 2.0]), torch.tensor([0.0, 2.0, 1.0, 2.0])
    (got,) = run(acl, name, [x, y], [torch.empty(4, dtype=torch.bool)])
    assert torch.equal(got, each(COMPARISONS[name], x, y).bool())


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("BitwiseAnd", lambda x, y: x & y), ("BitwiseOr", lambda x, y: x | y), ("BitwiseXor", lambda x, y: x ^ y),
        ("LeftShift", lambda x, y: x << y), ("RightShift", lambda x, y: x >> y),
    ],
)  # fmt: skip
def test_bits(acl, name, definition):
    x, y = torch.randint(0, 1000, (20,), dtype=torch.int32), torch.randint(0, 5, (20,), dtype=torch.int32)
    (got,) = run(acl, name, [x, y], [torch.empty_like(x)])
    assert got.tolist() == [definition(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", BACKWARD)
def test_backward(acl, name, dtype):
    grad_first, definition, attributes = BACKWARD[name]
    of_forward, grad = drawn(-4, 4).to(dtype), drawn(0.5, 2).to(dtype)
    (got,) = run(acl, name, [grad, of_forward] if grad_first else [of_forward, grad], [torch.empty_like(grad)], **attributes)
    close(got, each(lambda g, x: g * definition(x), grad, of_forward))


def test_several_operands(acl):
    x, y, z = (drawn(0.5, 3).float() for _ in range(3))
    number = Stored(torch.tensor([0.75]), on_host=True)
    out = [torch.empty_like(x)]
    close(run(acl, "AxpyV2", [x, y, number], out)[0], each(lambda a, b: a + 0.75 * b, x, y))
    close(run(acl, "Addcmul", [x, y, z, number], out)[0], each(lambda a, b, c: a + 0.75 * b * c, x, y, z))
    close(run(acl, "Addcdiv", [x, y, z, number], out)[0], each(lambda a, b, c: a + 0.75 * b / c, x, y, z))
    close(run(acl, "Lerp", [x, y, number], out)[0], each(lambda a, b: a + 0.75 * (b - a), x, y))
    high = Stored(torch.tensor([2.0]), on_host=True)
    for name in ("ClipByValue", "ClipByValueV2"):
        close(run(acl, name, [x, number, high], out)[0], each(lambda a: min(max(a, 0.75), 2.0), x))
    mask = x > 1
    close(run(acl, "MaskedFill", [x, mask, number], out)[0], each(lambda a: 0.75 if a > 1 else a, x))
    close(run(acl, "Select", [mask, x, y], out)[0], each(lambda a, b: a if a > 1 else b, x, y))
    close(run(acl, "ThresholdV2D", [x], out, threshold=1.0, value=7.0)[0], each(lambda a: a if a > 1 else 7.0, x))


def test_gated_linear_unit(acl):
    x, grad = drawn(-3, 3, (3, 8)).float(), drawn(0.5, 2, (3, 4)).float()
    left, right = x.double().chunk(2, 1)
    gate = each(sigmoid, right)
    close(run(acl, "GLU", [x], [torch.empty(3, 4)], dim=-1)[0], left * gate)
    expected = torch.cat([grad * gate, grad * left * gate * (1 - gate)], 1)
    close(run(acl, "GLUGrad", [grad, x], [torch.empty_like(x)], dim=-1)[0], expected)


def test_operands_and_results_in_private_formats(acl):
    x, y = drawn(-3, 3, (17, 20)).float(), drawn(-3, 3, (17, 20)).float()
    stored = [Stored(in_memory(Format.FRACTAL_NZ, t, 16), Format.FRACTAL_NZ, t.shape) for t in (x, y)]
    place = Stored(torch.ones(2, 2, 16, 16), Format.FRACTAL_NZ, x.shape)
    (got,) = run(acl, "Add", stored, [place])
    assert torch.equal(got, in_memory(Format.FRACTAL_NZ, x + y, 16))


def test_rotation_of_halves(acl):
    x, cos, sin, grad = drawn(-1, 1, (2, 3, 8)).float(), drawn(-1, 1, (3, 8)).float(), drawn(-1, 1, (3, 8)).float(), drawn(-1, 1, (2, 3, 8))
    exact = [t.double().requires_grad_() for t in (x, cos, sin)]
    partner = torch.cat([-exact[0][..., 4:], exact[0][..., :4]], -1)
    expected = exact[0] * exact[1] + partner * exact[2]
    close(run(acl, "RotaryMul", [x, cos, sin], [torch.empty_like(x)])[0], expected.detach())
    expected.backward(grad.float().double())
    outputs = [torch.empty_like(t) for t in (x, cos, sin)]
    for got, of in zip(run(acl, "RotaryMulGrad", [x, cos, sin, grad.float()], outputs, need_backward=True), exact, strict=True):
        close(got, of.grad)
