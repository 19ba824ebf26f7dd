"""reduction.cpp: reductions, norms, moments and scans."""

import torch

from cases import FLOATS, LAYOUTS, booleans, in_turn, permutation, randn, rows, table, uniform, values

INF, NAN = float("inf"), float("nan")

SUMS = {
    "sum": torch.sum,
    "sum-dim": lambda x: x.sum(1),
    "sum-dims": lambda x: x.sum((0, -1), keepdim=True),
    "mean": torch.mean,
    "mean-dim": lambda x: x.mean(-1),
    "mean-dims": lambda x: x.mean((0, 1), keepdim=True),
    "prod": torch.prod,
    "prod-dim": lambda x: x.prod(0),
    "nansum": torch.nansum,
    "nansum-dim": lambda x: x.nansum(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "logsumexp-dims": lambda x: x.logsumexp((0, 2), keepdim=True),
    "norm": torch.norm,
    "norm-1": lambda x: x.norm(1),
    "norm-dim": lambda x: x.norm(dim=1, keepdim=True),
    "norm-inf": lambda x: x.norm(INF),
    "norm--inf": lambda x: x.norm(-INF),
    "norm-3": lambda x: x.norm(3, dim=(0, 1)),
    "norm-0": lambda x: x.norm(0),
    "vector_norm": torch.linalg.vector_norm,
    "vector_norm-1": lambda x: torch.linalg.vector_norm(x, 1, dim=0),
    "std": torch.std,
    "std-dim": lambda x: x.std(1),
    "var": torch.var,
    "var-dims": lambda x: x.var((0, 2), keepdim=True),
    "var-biased": lambda x: x.var(1, unbiased=False),
    "var-correction": lambda x: x.var(2, correction=2),
    "var_mean": lambda x: torch.var_mean(x, 1),
    "var_mean-all": torch.var_mean,
    "std_mean": lambda x: torch.std_mean(x, (0, 1)),
    "std_mean-all": torch.std_mean,
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(2),
    "cumsum_": lambda x: x.cumsum_(0),
    "cumprod_": lambda x: x.cumprod_(0),
}

PICKS = {
    "max": torch.max,
    "min": torch.min,
    "amax": lambda x: x.amax((0, 1)),
    "amin": lambda x: x.amin(-1, keepdim=True),
    "amax-all": torch.amax,
    "max-dim": lambda x: x.max(1),
    "min-dim": lambda x: x.min(0, keepdim=True),
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "argmax-dim": lambda x: x.argmax(1),
    "argmin-dim": lambda x: x.argmin(-1, keepdim=True),
    "aminmax": torch.aminmax,
    "aminmax-dim": lambda x: torch.aminmax(x, dim=1, keepdim=True),
    "cummax": lambda x: x.cummax(1),
    "cummin": lambda x: x.cummin(0),
}

CASES = [
    *in_turn(SUMS, randn(3, 4, 5), dtypes=FLOATS, close=True, upcast=True),
    *rows(
        "double", lambda x: (x.sum(1), x.mean(), x.prod(0), x.cumsum(1), x.cumprod(2)), randn(3, 4, 5), dtypes=(torch.float64,), close=True
    ),
    *in_turn(PICKS, permutation(3, 4, 5, dtype=None), dtypes=(*FLOATS, torch.int64, torch.int32)),
    *rows(
        "sum-integer",
        lambda x: (x.sum(), x.sum(1), x.prod(), x.prod(0), x.cumsum(0), x.cumprod(1)),
        randn(3, 4),
        dtypes=(torch.int64, torch.int32, torch.int8),
    ),
    *rows("sum-bool", lambda x: (x.sum(), x.sum(1)), booleans(3, 4)),
    *rows(
        "sum-dtype",
        lambda x: (x.sum(dtype=torch.float32), x.mean(dtype=torch.float32), x.sum(0, dtype=torch.float64)),
        randn(3, 4),
        dtypes=(torch.float16, torch.int64),
        close=True,
    ),
    *rows("sum-long-half", lambda x: (x.sum(), x.mean()), uniform(40000, low=0.5), dtypes=FLOATS, close=True),
    *rows("sum-nothing", lambda x: (x.sum(), x.sum(0), x.prod()), randn(0, 3)),
    *rows("mean-nothing", lambda x: x.mean(), randn(0)),
    *rows("0-dim", lambda x: (x.sum(), x.mean(), x.max(), x.amax(), x.cumsum(0), x.prod()), randn()),
    *rows("nansum-nan", torch.nansum, values([1.0, NAN, 2.0])),
    *rows("max-nan", lambda x: (x.max(), x.min(), x.amax()), values([1.0, NAN, 2.0])),
    *[
        c
        for n in ("any", "all")
        for c in (
            *rows(n, getattr(torch, n), booleans(3, 4), layouts=LAYOUTS),
            *rows(f"{n}-dim", lambda x, n=n: (getattr(x, n)(1), getattr(x, n)(0, keepdim=True)), booleans(3, 4)),
            *rows(f"{n}-number", getattr(torch, n), randn(3, 4), dtypes=(torch.float32, torch.int64, torch.uint8)),
            *rows(f"{n}-0-dim", getattr(torch, n), values(True)),
            *rows(f"{n}-nothing", getattr(torch, n), booleans(0)),
        )
    ],
    *rows("aminmax-helper", lambda x: (torch.ops.aten._aminmax(x), torch.ops.aten._aminmax.dim(x, 1, True)), randn(3, 4)),
    *rows("norm-helper", lambda x: torch.ops.aten.norm.Scalar(x, 2), randn(3, 4), dtypes=FLOATS, close=True),
    *rows("norm-out", lambda x, y: torch.ops.aten.norm.out(x, 1, [1], False, out=y), randn(3, 4), randn(3), layouts=LAYOUTS, close=True),
    *rows("prod-long-half", torch.prod, uniform(300, low=0.9, high=1.1), dtypes=FLOATS, close=True, upcast=True),
    *rows("renorm", lambda x: x.renorm(2, 0, 1.0), randn(3, 4), layouts=LAYOUTS, close=True),
    *rows("renorm_", lambda x: x.renorm_(1, 1, 1.0), randn(3, 4), layouts=LAYOUTS, close=True),
    *rows("sum-out", lambda x, y: torch.sum(x, 1, out=y), randn(3, 4), randn(3), layouts=LAYOUTS, close=True),
    *rows("trace", torch.trace, randn(4, 3), dtypes=(torch.float32, torch.int64), layouts=LAYOUTS),
]

GRADIENTS = [
    *[
        c
        for n in ("sum", "mean-dims", "prod-dim", "logsumexp", "norm", "norm-dim", "std", "var-dims", "cumsum")
        for c in rows(n, SUMS[n], randn(3, 4, 5), backward=True, close=True)
    ],
    *[c for n in ("max", "amax", "max-dim") for c in rows(n, PICKS[n], permutation(3, 4, 5, dtype=None), backward=True)],
]


@table(CASES)
def test_reduction(case):
    case.check()


@table(GRADIENTS)
def test_gradients(case):
    case.check()


def test_values_reach_python():
    x = torch.arange(6.0, device="npu").reshape(2, 3)
    assert x.sum().item() == 15 and x.mean().item() == 2.5 and bool((x >= 0).all()) and int(x.argmax()) == 5
