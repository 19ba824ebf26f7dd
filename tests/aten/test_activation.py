"""activation.cpp: activations and softmax, with their gradients."""

import pytest
import torch
import torch.nn.functional as F

from cases import DEVICE, FLOATS, LAYOUTS, in_turn, randn, rows, table
from direct import call

X = randn(3, 4, 5)
HALF = {"dtypes": FLOATS, "close": True, "upcast": True, "backward": True}


ACTIVATIONS = {
    "relu": torch.relu,
    "threshold": lambda x: F.threshold(x, 0.3, -2.0),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "gelu": F.gelu,
    "silu": F.silu,
    "mish": F.mish,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softplus": lambda x: F.softplus(x, 2.0, 1.5),
    "softshrink": lambda x: F.softshrink(x, 0.4),
    "hardshrink": lambda x: F.hardshrink(x, 0.4),
    "elu": lambda x: F.elu(x, 0.7),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 0.7),
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.6),
    "relu6": F.relu6,
    "rrelu-eval": lambda x: F.rrelu(x, 0.1, 0.4),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "logsigmoid": F.logsigmoid,
    "glu": lambda x: F.glu(x, 1),
    "softmax": lambda x: torch.softmax(x, 1),
    "softmax-last": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, 1),
}
INPLACE = {
    "relu_": torch.relu_,
    "threshold_": lambda x: F.threshold_(x, 0.3, -2.0),
    "leaky_relu_": lambda x: F.leaky_relu_(x, 0.2),
    "silu_": lambda x: F.silu(x, inplace=True),
    "mish_": lambda x: F.mish(x, inplace=True),
    "elu_": lambda x: F.elu_(x, 0.7),
    "celu_": lambda x: F.celu_(x, 0.7),
    "hardtanh_": lambda x: F.hardtanh_(x, -0.5, 0.6),
    "rrelu_-eval": lambda x: F.rrelu_(x, 0.1, 0.4),
    "hardsigmoid_": lambda x: F.hardsigmoid(x, inplace=True),
    "hardswish_": lambda x: F.hardswish(x, inplace=True),
}


def empty(name, function, *others):
    return rows(f"{name}-empty", function, randn(0, 4), *others, backward=True)


def silent(function, *arguments):
    """The overload that writes to a given tensor."""
    return lambda x: function(x, *arguments, out=torch.empty_like(x))


CASES = [
    *in_turn(ACTIVATIONS, X, **HALF),
    *in_turn({name: lambda x, f=f: f(x * 1) for name, f in INPLACE.items()}, X, **HALF),
    *rows("relu-integer", torch.relu, X, dtypes=(torch.int32, torch.int64, torch.int8)),
    *rows("logsigmoid-out", silent(torch._C._nn.log_sigmoid), X, close=True),
    *rows("prelu", torch.prelu, X, randn(4), layouts=LAYOUTS, **HALF),
    *rows("prelu-one", torch.prelu, X, randn(1), layouts=LAYOUTS, **HALF),
    *empty("prelu", torch.prelu, randn(4)),
    *empty("relu", torch.relu),
    *empty("gelu", F.gelu),
    *empty("glu", lambda x: F.glu(x, 1)),
    *empty("softmax", lambda x: torch.softmax(x, 1)),
    *rows("softmax-float32", lambda x: torch.softmax(x, -1, dtype=torch.float32), X, dtypes=(torch.float16,), close=True, backward=True),
    *rows(
        "log_softmax-float32", lambda x: F.log_softmax(x, 1, dtype=torch.float32), X, dtypes=(torch.bfloat16,), close=True, backward=True
    ),
    *rows("softmax-0-dim", lambda x: torch.softmax(x, 0), randn(), close=True),
    *rows("softmax-out", lambda x: torch.softmax(x, 1, out=torch.empty_like(x)), X, close=True),
]


@table(CASES)
def test_activation(case):
    case.check()


def test_rrelu_in_training_multiplies_by_a_slope_of_each_element():
    x = torch.randn(1000)
    leaf = x.to(DEVICE).requires_grad_()
    result = F.rrelu(leaf, 0.1, 0.4, training=True)
    (slopes,) = torch.autograd.grad(result, leaf, torch.ones_like(result))
    torch.testing.assert_close(result.detach().cpu(), x * slopes.cpu())
    negative = slopes.cpu()[x < 0]
    assert (slopes.cpu()[x > 0] == 1).all() and negative.min() >= 0.1 and negative.max() <= 0.4 and negative.unique().numel() > 400


def test_relu_keeps_nan():
    assert torch.relu(torch.tensor([float("nan"), -1.0], device=DEVICE)).cpu().isnan().tolist() == [True, False]


def test_log_sigmoid_alone():
    x = torch.randn(100)
    out = torch.empty(100, device=DEVICE)
    call("aclnnLogSigmoid", x.to(DEVICE), out)
    torch.testing.assert_close(out.cpu(), F.logsigmoid(x))


@pytest.mark.parametrize("mode", ["none", "tanh"])
def test_gelu_with_a_mode(mode):
    x, grad = torch.randn(100, requires_grad=True), torch.randn(100)
    expected = F.gelu(x, approximate=mode)
    expected.backward(grad)
    out, grad_input = torch.empty(100, device=DEVICE), torch.empty(100, device=DEVICE)
    call("aclnnGeluV2", x.detach().to(DEVICE), int(mode == "tanh"), out)
    torch.testing.assert_close(out.cpu(), expected.detach())
    call("aclnnGeluBackwardV2", grad.to(DEVICE), x.detach().to(DEVICE), mode.encode(), grad_input)
    torch.testing.assert_close(grad_input.cpu(), x.grad)
