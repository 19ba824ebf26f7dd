"""reduction.cpp: reductions, norms, moments and scans."""

import torch
from checks import DEVICE, FLOATS, WHOLE, definitions, drawn

from cases import LAYOUTS, booleans, in_turn, permutation, randn, rows, table, uniform, values, written

NAN, HALF_AND_LONG, BYTES = float("nan"), (torch.float16, torch.int64), (*WHOLE, torch.int8)
SUMS = """torch.sum(x); x.sum(1); x.sum((0, -1), keepdim=True); torch.mean(x); x.mean(-1); x.mean((0, 1), keepdim=True); torch.prod(x);
    x.prod(0); torch.nansum(x); x.nansum(1); x.logsumexp(1); x.logsumexp((0, 2), keepdim=True); torch.norm(x); x.norm(1);
    x.norm(dim=1, keepdim=True); x.norm(float("inf")); x.norm(-float("inf")); x.norm(3, dim=(0, 1)); x.norm(0); torch.std(x); x.std(1);
    torch.var(x); x.var((0, 2), keepdim=True); x.var(1, unbiased=False); x.var(2, correction=2); torch.var_mean(x, 1); torch.var_mean(x);
    torch.std_mean(x, (0, 1)); torch.std_mean(x); x.cumsum(1); x.cumprod(2); x.cumsum_(0); x.cumprod_(0)"""
PICKS = """torch.max(x); torch.min(x); x.amax((0, 1)); x.amin(-1, keepdim=True); torch.amax(x); x.max(1); x.min(0, keepdim=True);
    torch.argmax(x); torch.argmin(x); x.argmax(1); x.argmin(-1, keepdim=True); torch.aminmax(x); torch.aminmax(x, dim=1, keepdim=True);
    x.cummax(1); x.cummin(0)"""
DISTINCT = permutation(3, 4, 5, dtype=None)
CASES = [
    *in_turn(written("x", SUMS), randn(3, 4, 5), dtypes=FLOATS, close=True, upcast=True),
    *in_turn(written("x", PICKS), DISTINCT, dtypes=(*FLOATS, torch.int64, torch.int32)),
    *rows("sum-integer", lambda x: (x.sum(), x.sum(1), x.prod(), x.prod(0), x.cumsum(0), x.cumprod(1)), randn(3, 4), dtypes=BYTES),
    *rows("sum-bool", lambda x: (x.sum(), x.sum(1)), booleans(3, 4)),
    *rows("sum-dtype", lambda x: (x.sum(dtype=torch.float32), x.mean(dtype=torch.float32)), randn(3, 4), dtypes=HALF_AND_LONG, close=True),
    *rows("sum-wide", lambda x: x.sum(0, dtype=torch.float64), randn(3, 4), dtypes=HALF_AND_LONG, close=True),
    *rows("sum-long-half", lambda x: (x.sum(), x.mean()), uniform(40000, low=0.5), dtypes=FLOATS, close=True),
    *rows("nansum-nan", torch.nansum, values([1.0, NAN, 2.0])),
    *rows("max-nan", lambda x: (x.max(), x.min(), x.amax()), values([1.0, NAN, 2.0])),
    *[
        c
        for n in ("any", "all")
        for c in (
            *rows(n, getattr(torch, n), booleans(3, 4), layouts=LAYOUTS),
            *rows(f"{n}-dim", lambda x, n=n: (getattr(x, n)(1), getattr(x, n)(0, keepdim=True)), booleans(3, 4)),
            *rows(f"{n}-number", getattr(torch, n), randn(3, 4), dtypes=(torch.float32, torch.int64, torch.uint8)),
        )
    ],
    *rows("aminmax-helper", lambda x: (torch.ops.aten._aminmax(x), torch.ops.aten._aminmax.dim(x, 1, True)), randn(3, 4)),
    *rows("norm-out", lambda x, y: torch.ops.aten.norm.out(x, 1, [1], False, out=y), randn(3, 4), randn(3), layouts=LAYOUTS, close=True),
    *rows("prod-long-half", torch.prod, uniform(300, low=0.9, high=1.1), dtypes=FLOATS, close=True, upcast=True),
    *rows("renorm", lambda x: x.renorm(2, 0, 1.0), randn(3, 4), layouts=LAYOUTS, close=True),
    *rows("renorm_", lambda x: x.renorm_(1, 1, 1.0), randn(3, 4), layouts=LAYOUTS, close=True),
    *rows("trace", torch.trace, randn(4, 3), dtypes=(torch.float32, torch.int64), layouts=LAYOUTS),
]
test_torchs_functions = table(CASES)


X = [drawn(3, 4, 5)]
test_definitions = definitions(
    [
        ("aclnnVar", X, ([0, -1], True, False), lambda x: x.var((0, 2)), FLOATS),
        ("aclnnVar", X, (None, False, True), lambda x: x.var((0, 1, 2), correction=0, keepdim=True), FLOATS),
        ("aclnnLogSumExp", X, ([], False), lambda x: x.logsumexp((0, 1, 2)), FLOATS[:1]),
    ]
)


def test_booleans_are_counted_along_a_dimension():
    flags = torch.tensor([[True, False, True], [False, True, True]])
    assert flags.to(DEVICE).cumsum(1).cpu().equal(flags.cumsum(1))
    assert torch.cumsum(flags.to(DEVICE), 0, dtype=torch.float32).cpu().equal(torch.cumsum(flags, 0, dtype=torch.float32))
    there = flags.to(DEVICE)
    there.cumsum_(1)
    assert there.cpu().equal(flags.cumsum(1).bool())


def test_norms_in_float64():
    x = torch.randn(3, 4, dtype=torch.float64)
    torch.testing.assert_close(x.to(DEVICE).norm().cpu(), x.norm())
    torch.testing.assert_close(torch.nn.functional.normalize(x.to(DEVICE)).cpu(), torch.nn.functional.normalize(x))
    y = torch.complex(x, x.flip(0))
    torch.testing.assert_close(y.to(DEVICE).dist(y.flip(1).to(DEVICE)).cpu(), y.dist(y.flip(1)))


def test_the_norm_of_order_0_counts():
    x = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]], device=DEVICE)
    torch.testing.assert_close(x.renorm(0, 0, 1.0).cpu(), torch.tensor([[0.5, 0.0, 1.0], [0.0, 0.0, 3.0]]))
