"""gated_activation.cpp against definitions in float64."""

import torch
from checks import FLOATS, definitions, drawn
from definitions import selu

from direct import fraction

X = [drawn(3, 4, 6)]
ROWS = [
    ("aclnnSelu", X, (), lambda x: selu(x).trunc(), (torch.int32,)),
    ("aclnnSwish", X, (fraction(1.5),), lambda x: x / (1 + torch.exp(-1.5 * x)), FLOATS),
    ("aclnnSwish", X, (None,), lambda x: x / (1 + torch.exp(-x)), FLOATS),
]
test_definitions = definitions(ROWS)
