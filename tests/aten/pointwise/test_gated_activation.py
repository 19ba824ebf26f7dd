"""gated_activation.cpp against definitions in float64."""

import torch
import torch.nn.functional as F
from checks import DEVICE, FLOATS, close, definitions, drawn
from definitions import gelu, selu

from direct import call, fraction


def derivative(function, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0]


def gated_gradient(grad, x):
    plain, gate = x.chunk(2, 1)
    return torch.cat([grad * gelu(gate), grad * plain * derivative(gelu, gate)], 1)


X, XY = [drawn(3, 4, 6)], [drawn(3, 4, 6), drawn(3, 4, 6).flip(0)]
LINE, EDGES = torch.tensor([-2.0, -0.5, 0.0, 0.5, 3.0], dtype=torch.float64), torch.tensor([-1.0, 0.0, 0.5, 2.0], dtype=torch.float64)
ROWS = [
    ("aclnnSelu", X, (), selu, FLOATS),
    ("aclnnSelu", X, (), lambda x: selu(x).trunc(), (torch.int32,)),
    ("aclnnSwish", X, (fraction(1.5),), lambda x: x / (1 + torch.exp(-1.5 * x)), FLOATS),
    ("aclnnSwish", X, (None,), lambda x: x / (1 + torch.exp(-x)), FLOATS),
    ("aclnnSwishBackward", XY, (fraction(1.5),), lambda g, x: g * derivative(lambda x: x / (1 + torch.exp(-1.5 * x)), x), FLOATS),
    ("aclnnShrink", X, (fraction(0.5), fraction(0.25)), lambda x: x.sign() * (x.abs() - 0.25) * (x.abs() > 0.5), FLOATS[:2]),
    ("aclnnHeaviside", [LINE, EDGES[1:2]], (), lambda x, y: (x > 0) + (x == 0) * y, FLOATS),
    ("aclnnGeluMul", X, (b"tanh",), lambda x: gelu(x[..., :3]) * x[..., 3:], FLOATS),
    *[("aclnnGeluMul", X, (mode,), lambda x: F.gelu(x[..., :3]) * x[..., 3:], FLOATS) for mode in (None, b"none")],
    ("aclnnGeGluBackward", [drawn(3, 2, 6), *X], lambda g, x: (g, x, gelu(x.cpu().chunk(2, 1)[1]), 1, 1), gated_gradient, FLOATS[:1]),
    ("aclnnSquaredRelu", X, (), lambda x: x**2 * (x > 0), FLOATS),
    ("aclnnFatreluMul", [LINE.repeat(2, 2), EDGES[2:3]], (), lambda x, t: LINE * (t < LINE) * x[:, 5:], FLOATS),
]
test_definitions = definitions(ROWS)


def test_selu_in_place():
    values = drawn(3, 4).float()
    there = values.to(DEVICE)
    call("aclnnInplaceSelu", there)
    close(there, selu(values.double()))
