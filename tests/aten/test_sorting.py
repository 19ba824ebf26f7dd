"""sorting.cpp: orders, ranks, sets, and results whose size depends on the data."""

import pytest
import torch

from cases import DEVICE, FLOATS, LAYOUTS, booleans, in_turn, integers, permutation, randn, rows, table, uniform, values

DTYPES = (*FLOATS, torch.int64, torch.int32)
DISTINCT = permutation(3, 4, 5, dtype=None)
NAN = float("nan")

CASES = [
    *in_turn(
        {
            "sort": torch.sort,
            "sort-dim": lambda x: x.sort(0, descending=True),
            "argsort": torch.argsort,
            "topk": lambda x: x.topk(3),
            "topk-least": lambda x: x.topk(2, dim=1, largest=False),
        },
        DISTINCT,
        dtypes=DTYPES,
    ),
    *rows(
        "sort-stable", lambda x: torch.sort(x, dim=0, stable=True), integers(30, high=4, dtype=None), dtypes=(torch.float32, torch.int64)
    ),
    *rows("msort", torch.msort, DISTINCT),
    *rows("kthvalue", lambda x: x.kthvalue(2), DISTINCT, dtypes=(torch.float32, torch.int64), layouts=LAYOUTS),
    *rows("kthvalue-keepdim", lambda x: x.kthvalue(2, 0, keepdim=True), DISTINCT),
    *rows("median", torch.median, DISTINCT, dtypes=(torch.float32, torch.float16, torch.int64), layouts=LAYOUTS),
    *rows("median-dim", lambda x: x.median(1), DISTINCT, dtypes=(torch.float32, torch.int64), layouts=LAYOUTS),
    *rows("nanmedian", torch.nanmedian, values([1.0, NAN, 3.0, 2.0])),
    *rows("nanmedian-dim", lambda x: x.nanmedian(0), values([1.0, NAN, 3.0, 2.0])),
    *rows("searchsorted", torch.searchsorted, values([[1.0, 2.0, 4.0], [0.0, 3.0, 5.0]]), uniform(2, 6, high=6)),
    *rows("searchsorted-right", lambda s, x: torch.searchsorted(s, x, right=True), values([1, 2, 2, 4]), integers(2, 6, high=6)),
    *rows("searchsorted-int32", lambda s, x: torch.searchsorted(s, x, out_int32=True), values([1, 2, 2, 4]), integers(2, 6, high=6)),
    *rows("searchsorted-number", lambda s: torch.searchsorted(s, 2), values([1, 2, 2, 4])),
    *rows("nonzero", torch.nonzero, randn(3, 4, dtype=torch.int64), layouts=LAYOUTS),
    *rows("nonzero-dtypes", torch.nonzero, integers(3, 4, high=2, dtype=None), dtypes=(*FLOATS, torch.bool)),
    *rows("nonzero-tuple", lambda x: x.nonzero(as_tuple=True), randn(3, 4, dtype=torch.int64), layouts=LAYOUTS),
    *rows("nonzero-none", torch.nonzero, values([[0, 0], [0, 0]])),
    *rows("nonzero-empty", torch.nonzero, randn(0, 3)),
    *rows("nonzero-0-dim", torch.nonzero, values(3.0)),
    *rows("where-condition", torch.where, booleans(3, 4), layouts=LAYOUTS),
    *rows("masked_select", torch.masked_select, randn(3, 4), booleans(3, 4), dtypes=(*FLOATS, torch.int64), layouts=LAYOUTS),
    *rows("masked_select-broadcast", torch.masked_select, randn(3, 4), booleans(4)),
    *rows("masked_select-none", lambda x: torch.masked_select(x, x > 99), randn(3, 4)),
    *rows("unique", torch.unique, integers(20, high=6), layouts=LAYOUTS),
    *rows("unique-float", torch.unique, integers(20, high=6, dtype=None), dtypes=FLOATS),
    *rows("unique-inverse", lambda x: torch.unique(x, return_inverse=True), integers(4, 5, high=6)),
    *rows("unique-counts", lambda x: torch.unique(x, return_counts=True), integers(4, 5, high=6)),
    *rows("unique-both", lambda x: torch.unique(x, return_inverse=True, return_counts=True), integers(4, 5, high=6)),
    *rows("unique-helper", lambda x: torch.ops.aten._unique(x, True, True), integers(4, 5, high=6)),
    *rows("unique-dim", lambda x: torch.unique(x, dim=0), integers(9, 2, high=2)),
    *rows("unique-dim-both", lambda x: torch.unique(x, dim=1, return_inverse=True, return_counts=True), integers(2, 9, high=2)),
    *rows("unique_consecutive", torch.unique_consecutive, integers(20, high=2)),
    *rows("unique_consecutive-both", lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), integers(20, high=2)),
    *rows("unique_consecutive-dim", lambda x: torch.unique_consecutive(x, dim=0), integers(20, 1, high=2)),
    *rows("sort-gradient", lambda x: x.sort(1)[0], DISTINCT, backward=True),
    *rows("topk-gradient", lambda x: x.topk(2)[0], DISTINCT, backward=True),
]


@table(CASES)
def test_sorting(case):
    case.check()


def test_printing():
    for x in (
        torch.tensor([[1.5, 1e-6, NAN], [float("inf"), -2.0, 1234.5]]),
        torch.tensor([True]),
        torch.arange(2000),
        torch.randn(2, 2).half(),
    ):
        there = repr(x.to(DEVICE))
        assert "device='npu:0'" in there
        assert "".join(there.replace("device='npu:0'", "").split()).replace(",,", ",").replace(",)", ")") == "".join(repr(x).split())


@pytest.mark.parametrize("median", [torch.median, torch.nanmedian])
def test_median_of_elements_at_several_places(median):
    base = torch.tensor([2.0, 9.0, 8.0, 7.0, 6.0])
    x = base.as_strided((3, 5), (1, 0)), base.to(DEVICE).as_strided((3, 5), (1, 0))
    for dim in (0, 1):
        expected, got = (median(one, dim).values for one in (x[0].contiguous(), x[1]))
        assert got.tolist() == expected.tolist()
