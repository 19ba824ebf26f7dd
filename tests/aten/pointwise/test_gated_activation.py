"""gated_activation.cpp against definitions in float64."""

import torch
from checks import DEVICE, FLOATS, close, definitions, drawn
from definitions import selu

from direct import call, fraction


def derivative(function, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0]


X, XY = [drawn(3, 4, 6)], [drawn(3, 4, 6), drawn(3, 4, 6).flip(0)]
LINE, EDGES = torch.tensor([-2.0, -0.5, 0.0, 0.5, 3.0], dtype=torch.float64), torch.tensor([-1.0, 0.0, 0.5, 2.0], dtype=torch.float64)
ROWS = [
    ("aclnnSelu", X, (), selu, FLOATS),
    ("aclnnSelu", X, (), lambda x: selu(x).trunc(), (torch.int32,)),
    ("aclnnSwish", X, (fraction(1.5),), lambda x: x / (1 + torch.exp(-1.5 * x)), FLOATS),
    ("aclnnSwish", X, (None,), lambda x: x / (1 + torch.exp(-x)), FLOATS),
    ("aclnnSwishBackward", XY, (fraction(1.5),), lambda g, x: g * derivative(lambda x: x / (1 + torch.exp(-1.5 * x)), x), FLOATS),
    ("aclnnHeaviside", [LINE, EDGES[1:2]], (), lambda x, y: (x > 0) + (x == 0) * y, FLOATS),
    ("aclnnSquaredRelu", X, (), lambda x: x**2 * (x > 0), FLOATS),
]
test_definitions = definitions(ROWS)


def test_selu_in_place():
    values = drawn(3, 4).float()
    there = values.to(DEVICE)
    call("aclnnInplaceSelu", there)
    close(there, selu(values.double()))
