"""loss.cpp against definitions in float64."""

from ctypes import c_float

import pytest
import torch
import torch.nn.functional as F
from checks import FLOATS, check, definitions, drawn, zeros

from cases import LAYOUTS, constant, integers, randn, rows, uniform, values
from support.marks import skip_with

X, Y = randn(4, 5), randn(4, 5)
P, Q = uniform(4, 5, low=0.05, high=0.95), uniform(4, 5, low=0.05, high=0.95)
CLASSES = integers(4, high=5)
PIXELS, PIXEL_CLASSES = randn(2, 5, 3, 4), integers(2, 3, 4, high=5)


def loss(name, function, *inputs, dtypes=FLOATS):
    """Every reduction; they have the dtypes in turn, and strided inputs with one of them: the adapters compute all in float32."""
    shared = {"close": True, "upcast": True, "backward": True}
    return [
        row
        for i, reduction in enumerate(("none", "mean", "sum"))
        for row in rows(
            f"{name}-{reduction}",
            lambda *x, r=reduction: function(*x, reduction=r),
            *inputs,
            dtypes=(dtypes[i % len(dtypes)],),
            layouts=LAYOUTS[i > 0 :][:1],
            **shared,
        )
    ]


def logits_with_weights(x, y, weight, positive, reduction):
    return F.binary_cross_entropy_with_logits(x, y, weight, pos_weight=positive, reduction=reduction)


def ctc(log_probs, targets, reduction, **options):
    return F.ctc_loss(log_probs.log_softmax(2), targets, (9, 7), (3, 2), reduction=reduction, **options)


CASES = [
    *loss("mse", F.mse_loss, X, Y),
    *loss("l1", F.l1_loss, X, Y),
    *loss("smooth_l1", lambda x, y, reduction: F.smooth_l1_loss(x, y, reduction=reduction, beta=0.7), X, Y),
    *loss("smooth_l1-0", lambda x, y, reduction: F.smooth_l1_loss(x, y, reduction=reduction, beta=0.0), X, Y),
    *loss("huber", F.huber_loss, X, Y, dtypes=(torch.float32,)),
    *loss("soft_margin", F.soft_margin_loss, X, constant(values([[1.0, -1.0, 1.0, -1.0, 1.0]] * 4)), dtypes=(torch.float32,)),
    *loss("kl_div", F.kl_div, X, constant(P)),
    *loss("kl_div-log", lambda x, y, reduction: F.kl_div(x, y, reduction=reduction, log_target=True), X, constant(Y)),
    *loss("kl_div-target", F.kl_div, X, P, dtypes=(torch.float32,)),
    *loss("nll", F.nll_loss, X, CLASSES),
    *loss("nll-weight", F.nll_loss, X, CLASSES, constant(uniform(5))),
    *loss("nll-ignore", lambda x, y, reduction: F.nll_loss(x, y, ignore_index=2, reduction=reduction), X, CLASSES),
    *rows("nll-1d", F.nll_loss, randn(5), values(3), close=True, backward=True),
    *loss("nll2d", F.nll_loss, PIXELS, PIXEL_CLASSES),
    *loss("bce", F.binary_cross_entropy, P, constant(integers(4, 5, high=2, dtype=None))),
    *loss("bce-weight", F.binary_cross_entropy, P, constant(Q), constant(uniform(5))),
    *loss("bce_logits", F.binary_cross_entropy_with_logits, X, constant(P)),
    *loss("bce_logits-weight", logits_with_weights, X, constant(P), constant(uniform(5)), constant(uniform(5))),
    *loss("multilabel_margin", F.multilabel_margin_loss, X, values([[3, 0, -1, 1, 2]] * 4), dtypes=(torch.float32,)),
    *rows("multilabel_margin-one", F.multilabel_margin_loss, randn(), values(0), dtypes=(torch.float32,), close=True),
    *loss("ctc", ctc, randn(9, 2, 6), integers(2, 3, low=1, high=6), dtypes=(torch.float32,)),
    *loss("ctc-joined", ctc, randn(9, 2, 6), integers(5, low=1, high=6), dtypes=(torch.float32,)),
]
FAR = [torch.tensor([-200.0, 200.0, 3.0], dtype=torch.float64), torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)]
ROWS = [
    # A mean over the shape to which self is broadcast, numbers whose exponentials are beyond float32, and a target of 0.
    (
        *("aclnnBinaryCrossEntropyWithLogitsBackward", [drawn(1), drawn(1, 4), drawn(3, 4).abs()], (None, None, 1)),
        *(lambda g, x, y: g / 12 * (torch.sigmoid(x) - y), FLOATS[:1]),
    ),
    *(
        (f"aclnn{name}LossBackward", [drawn(3, 1), drawn(1, 4), drawn(4)], numbers, define, FLOATS[:1])
        for name, numbers, define in (
            ("Mse", (1,), lambda g, x, y: g / 6 * (x - y)),
            ("L1", (1,), lambda g, x, y: g / 12 * (x - y).sgn()),
            ("SmoothL1", (1, c_float(1)), lambda g, x, y: g / 12 * (x - y).clamp(-1, 1)),
            ("SoftMargin", (1,), lambda g, x, y: -g / 12 * y * torch.sigmoid(-x * y)),
        )
    ),
    ("aclnnSoftMarginLoss", FAR, (0,), lambda x, y: F.softplus(-x * y), FLOATS),
    ("aclnnSoftMarginLossBackward", [drawn(3), *FAR], (0,), lambda g, x, y: -g * y * torch.sigmoid(-x * y), FLOATS),
    ("aclnnKlDivTargetBackward", [drawn(3), *FAR], (0, False), lambda g, x, y: g * torch.tensor([1.0, 1.0, 0.0]) * (1 - x), FLOATS),
]
test_definitions = definitions(ROWS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_loss(case):
    if case.name.startswith("smooth_l1-") and case.dtype is torch.float16:
        skip_with("2.7", "2.9", "smooth_l1_loss has no gradient in float16 on cpu")
    case.check()


@pytest.mark.parametrize("dims", [2, 4])
def test_gradient_of_the_losses_of_scores_in_another_order(dims):
    images = torch.randn(2, 3, 4, 5) if dims == 4 else torch.randn(6, 5)
    scores = images.transpose(-1, 1 - dims)
    target = torch.arange(scores.numel() // scores.shape[1]).remainder(scores.shape[1]).view(scores.shape[:1] + scores.shape[2:])
    grad, expected = torch.randn(target.shape), scores.contiguous().requires_grad_()
    F.nll_loss(expected, target, reduction="none").backward(grad)
    name = f"aclnnNLLLoss{'2d' * (dims == 4)}Backward"
    check(name, (grad, images.transpose(-1, 1 - dims), target, None, 0, -100, zeros(1)), expected.grad)
