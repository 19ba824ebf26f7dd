"""loss.cpp: every loss, every reduction, with its gradients."""

import torch
import torch.nn.functional as F

from cases import FLOATS, LAYOUTS, constant, integers, randn, rows, table, uniform, values
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


CASES = [
    *loss("mse", F.mse_loss, X, Y),
    *loss("mse-empty", F.mse_loss, randn(0, 3), randn(0, 3)),
    *loss("l1", F.l1_loss, X, Y),
    *loss("smooth_l1", lambda x, y, reduction: F.smooth_l1_loss(x, y, reduction=reduction, beta=0.7), X, Y),
    *loss("smooth_l1-0", lambda x, y, reduction: F.smooth_l1_loss(x, y, reduction=reduction, beta=0.0), X, Y),
    *loss("huber", F.huber_loss, X, Y, dtypes=(torch.float32,)),
    *loss("soft_margin", F.soft_margin_loss, X, constant(values([[1.0, -1.0, 1.0, -1.0, 1.0]] * 4)), dtypes=(torch.float32,)),
    *loss("kl_div", F.kl_div, X, constant(P)),
    *loss("kl_div-log", lambda x, y, reduction: F.kl_div(x, y, reduction=reduction, log_target=True), X, constant(Y)),
    *loss("kl_div-target", F.kl_div, X, P, dtypes=(torch.float32,)),
    *loss("kl_div-log-target", lambda x, y, reduction: F.kl_div(x, y, reduction=reduction, log_target=True), X, Y, dtypes=(torch.float32,)),
    *loss("nll", F.nll_loss, X, CLASSES),
    *loss("nll-weight", F.nll_loss, X, CLASSES, constant(uniform(5))),
    *loss("nll-ignore", lambda x, y, reduction: F.nll_loss(x, y, ignore_index=2, reduction=reduction), X, CLASSES),
    *rows("nll-1d", F.nll_loss, randn(5), values(3), close=True, backward=True),
    *loss("nll2d", F.nll_loss, PIXELS, PIXEL_CLASSES),
    *loss("nll2d-weight", F.nll_loss, PIXELS, PIXEL_CLASSES, constant(uniform(5))),
    *loss("cross_entropy", F.cross_entropy, X, CLASSES),
    *loss("cross_entropy-smooth", lambda x, y, reduction: F.cross_entropy(x, y, label_smoothing=0.1, reduction=reduction), X, CLASSES),
    *loss("cross_entropy-2d", F.cross_entropy, PIXELS, PIXEL_CLASSES),
    *loss("cross_entropy-probabilities", F.cross_entropy, X, P, dtypes=(torch.float32,)),
    *loss("bce", F.binary_cross_entropy, P, constant(integers(4, 5, high=2, dtype=None))),
    *loss("bce-weight", F.binary_cross_entropy, P, constant(Q), constant(uniform(5))),
    *loss("bce_logits", F.binary_cross_entropy_with_logits, X, constant(P)),
    *loss("bce_logits-weight", logits_with_weights, X, constant(P), constant(uniform(5)), constant(uniform(5))),
]

CASES += loss("multilabel_margin", F.multilabel_margin_loss, X, values([[3, 0, -1, 1, 2]] * 4), dtypes=(torch.float32,))


def ctc(log_probs, targets, reduction, **options):
    return F.ctc_loss(log_probs.log_softmax(2), targets, (9, 7), (3, 2), reduction=reduction, **options)


CASES += loss("ctc", ctc, randn(9, 2, 6), integers(2, 3, low=1, high=6), dtypes=(torch.float32,))
CASES += loss("ctc-joined", ctc, randn(9, 2, 6), integers(5, low=1, high=6), dtypes=(torch.float32,))


@table(CASES)
def test_loss(case):
    if case.name.startswith("smooth_l1-") and case.dtype is torch.float16:
        skip_with("2.7", "2.9", "smooth_l1_loss has no gradient in float16 on cpu")
    case.check()
