"""rearranging.cpp against definitions in float64."""

import torch
from checks import FLOATS, WHOLE, definitions, drawn

from cases import randn, rows, table

X = [drawn(3, 4, 6)]


def chunks(*tensors):
    return torch._chunk_cat([tensors[0], tensors[1].flatten(), tensors[2]], 0, 3)


ROWS = [
    ("aclnnConfusionTranspose", X, ([1, 0], [12, 6], False), lambda x: x.reshape(12, 6).t(), (*FLOATS, *WHOLE)),
    ("aclnnConfusionTranspose", X, ([2, 0, 1], [6, 12], True), lambda x: x.movedim(2, 0).reshape(6, 12), FLOATS),
    ("aclnnStridedSlice", X, ([1, 1, -4], [2, 3, -1], [1, 1, 2], 1, 2, 0, 0, 0), lambda x: x[:2, 1:, -4:-1:2], (*FLOATS, *WHOLE)),
]
CASES = [*rows("chunk_cat", chunks, randn(5, 2), randn(2, 2), randn(1, 3, 2), dtypes=FLOATS)]
test_definitions = definitions(ROWS)
test_torchs_functions = table(CASES)
