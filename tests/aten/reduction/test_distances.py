"""distances.cpp against definitions in float64."""

import math
from ctypes import c_float

import torch
from checks import FLOATS, definitions, drawn

from cases import randn, rows, table


def norms(x, y, p):
    return torch.stack([torch.stack([(a - b).abs().pow(p).sum(-1).pow(1 / p) for b in y.unbind(-2)], -1) for a in x.unbind(-2)], -2)


def largest(x, y):
    return (x[..., :, None, :] - y[..., None, :, :]).abs().amax(-1)


def distance_gradient(grad, x, y, distance):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(distance(x, y), x, grad)[0]


def squares(x, y):
    """The squared distances from each point of x to those of y."""
    return (x.unsqueeze(-2) - y.unsqueeze(-3)).square().sum(-1)


POINTS = [drawn(2, 3, 5), drawn(4, 5)]
FLOAT = {"dtypes": (torch.float32,), "close": True}


def positive_definite(x):
    return x @ x.mT + torch.eye(x.size(-1), device=x.device)


ROWS = [
    ("aclnnLogdet", [torch.ones(2, 2, dtype=torch.float64)], (), lambda x: torch.tensor(-math.inf), (torch.float32,)),
    (
        "aclnnChamferDistanceBackward",
        [drawn(2, 4, 2), drawn(2, 3, 2).flip(0), drawn(2, 4), drawn(2, 3)],
        lambda x, y, g, h: (x, y, *(d.argmin(-1).int() for d in (squares(x, y), squares(y, x))), g, h),
        lambda x, y, g, h: torch.autograd.grad(
            (squares(p := x.requires_grad_(), q := y.requires_grad_()).amin(-1) * g).sum() + (squares(q, p).amin(-1) * h).sum(), (p, q)
        ),
        (torch.float32, torch.float64),
    ),
    ("aclnnCdist", POINTS, (c_float(3), 0), lambda x, y: norms(x, y, 3), FLOATS),
    ("aclnnCdist", POINTS, (c_float(math.inf), 2), largest, FLOATS),
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
]
CASES = [
    *rows("cdist", lambda *x: torch.cdist(*x, 3.0), randn(2, 3, 5), randn(4, 5), **FLOAT, backward=True),
    *rows("cdist-2", torch.cdist, randn(2, 3, 5), randn(2, 4, 5), **FLOAT),
    *rows("cholesky", lambda x: torch.linalg.cholesky(positive_definite(x)), randn(2, 4, 4), **FLOAT),
    *rows("cholesky-upper", lambda x: torch.linalg.cholesky(positive_definite(x), upper=True), randn(4, 4), **FLOAT),
    *rows("slogdet", torch.slogdet, randn(3, 4, 4), **FLOAT),
]
test_definitions = definitions(ROWS)
test_torchs_functions = table(CASES)
