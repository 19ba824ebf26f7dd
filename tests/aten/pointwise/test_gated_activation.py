"""gated_activation.cpp against definitions in float64."""

import torch
from checks import FLOATS, definitions, drawn

from direct import fraction

ROWS = [("aclnnSwish", [drawn(3, 4, 6)], (fraction(1.5),), lambda x: x / (1 + torch.exp(-1.5 * x)), FLOATS)]
test_definitions = definitions(ROWS)
