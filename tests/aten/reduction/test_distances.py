"""distances.cpp against definitions in float64."""

import math
from ctypes import c_float

import torch
from checks import FLOATS, definitions, drawn

from cases import randn, rows, table


def largest(x, y):
    return (x[..., :, None, :] - y[..., None, :, :]).abs().amax(-1)


def distance_gradient(grad, x, y):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(largest(x, y), x, grad)[0]


POINTS = [drawn(2, 3, 5), drawn(4, 5)]
FLOAT = {"dtypes": (torch.float32,), "close": True}


def positive_definite(x):
    return x @ x.mT + torch.eye(x.size(-1), device=x.device)


ROWS = [
    ("aclnnLogdet", [torch.ones(2, 2, dtype=torch.float64)], (), lambda x: torch.tensor(-math.inf), (torch.float32,)),
    ("aclnnCdist", POINTS, (c_float(math.inf), 2), largest, FLOATS),
    (
        *("aclnnCdistBackward", [drawn(2, 3, 4), *POINTS], lambda g, x, y: (g, x, y, largest(x, y), c_float(-1))),
        *(distance_gradient, (torch.float32, torch.float64)),
    ),
]
CASES = [
    *rows("cdist", lambda *x: torch.cdist(*x, 3.0), randn(2, 3, 5), randn(4, 5), **FLOAT, backward=True),
    *rows("cholesky-upper", lambda x: torch.linalg.cholesky(positive_definite(x), upper=True), randn(4, 4), **FLOAT),
    *rows("slogdet", torch.slogdet, randn(3, 4, 4), **FLOAT),
]
test_definitions = definitions(ROWS)
test_torchs_functions = table(CASES)
