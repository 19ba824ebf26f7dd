"""activation.cpp: activations and softmax, with their gradients."""

import torch
import torch.nn.functional as F
from checks import FLOATS

from cases import LAYOUTS, in_turn, randn, rows, table, values, written

X, GRADIENTS = randn(3, 4, 5), {"close": True, "backward": True}
HALF = {"dtypes": FLOATS, "upcast": True, **GRADIENTS}
ACTIVATIONS = """torch.relu(x); F.threshold(x, 0.3, -2.0); F.leaky_relu(x, 0.2); F.gelu(x); F.silu(x); F.mish(x); torch.sigmoid(x);
    torch.tanh(x); F.softplus(x, 2.0, 1.5); F.softshrink(x, 0.4); F.hardshrink(x, 0.4); F.elu(x, 0.7); F.selu(x); F.celu(x, 0.7);
    F.hardtanh(x, -0.5, 0.6); F.relu6(x); F.rrelu(x, 0.1, 0.4); F.hardsigmoid(x); F.hardswish(x); F.logsigmoid(x); F.glu(x, 1);
    torch.softmax(x, 1); torch.softmax(x, -1); torch.log_softmax(x, 1)"""
IN_PLACE = """torch.relu_(x * 1); F.threshold_(x * 1, 0.3, -2.0); F.leaky_relu_(x * 1, 0.2); F.silu(x * 1, inplace=True);
    F.mish(x * 1, inplace=True); F.elu_(x * 1, 0.7); F.celu_(x * 1, 0.7); F.hardtanh_(x * 1, -0.5, 0.6); F.rrelu_(x * 1, 0.1, 0.4);
    F.hardsigmoid(x * 1, inplace=True); F.hardswish(x * 1, inplace=True)"""
CASES = [
    *in_turn(written("x", ACTIVATIONS), X, **HALF),
    *in_turn(written("x", IN_PLACE), X, **HALF),
    *rows("prelu", torch.prelu, X, randn(4), layouts=LAYOUTS, **HALF),
    *rows("prelu-one", torch.prelu, X, randn(1), layouts=LAYOUTS, **HALF),
    *rows("softmax-float32", lambda x: torch.softmax(x, -1, dtype=torch.float32), X, dtypes=(torch.float16,), **GRADIENTS),
    *rows("log_softmax-float32", lambda x: F.log_softmax(x, 1, dtype=torch.float32), X, dtypes=(torch.bfloat16,), **GRADIENTS),
    *rows("softmax-0-dim", lambda x: torch.softmax(x, 0), randn(), close=True),
    *rows("hardswish-edges", F.hardswish, values([-3.0, 3.0, -2.9, 2.9, 0.0]), **GRADIENTS),
    *rows("relu-nan", torch.relu, values([float("nan"), -1.0])),
]
test_torchs_functions = table(CASES)
