"""sorting.cpp against definitions in float64."""

import pytest
import torch
from checks import DEVICE, FLOATS, check, definitions

from cases import LAYOUTS, booleans, in_turn, integers, permutation, randn, rows, table, uniform, values, written

LINE, EDGES = torch.tensor([-2.0, -0.5, 0.0, 0.5, 3.0], dtype=torch.float64), torch.tensor([-1.0, 0.0, 0.5, 2.0], dtype=torch.float64)
DTYPES, FLOAT_AND_LONG = (*FLOATS, torch.int64, torch.int32), (torch.float32, torch.int64)
ORDERS = "torch.sort(x); x.sort(0, descending=True); torch.argsort(x); x.topk(3); x.topk(2, dim=1, largest=False)"
DISTINCT = permutation(3, 4, 5, dtype=None)
NAN = float("nan")
CASES = [
    *in_turn(written("x", ORDERS), DISTINCT, dtypes=DTYPES),
    *rows("sort-stable", lambda x: torch.sort(x, dim=0, stable=True), integers(30, high=4, dtype=None), dtypes=FLOAT_AND_LONG),
    *rows("kthvalue", lambda x: x.kthvalue(2), DISTINCT, dtypes=FLOAT_AND_LONG, layouts=LAYOUTS),
    *rows("median", torch.median, DISTINCT, dtypes=(torch.float32, torch.float16, torch.int64), layouts=LAYOUTS),
    *rows("median-dim", lambda x: x.median(1), DISTINCT, dtypes=FLOAT_AND_LONG, layouts=LAYOUTS),
    *rows("nanmedian", torch.nanmedian, values([1.0, NAN, 3.0, 2.0])),
    *rows("nanmedian-dim", lambda x: x.nanmedian(0), values([1.0, NAN, 3.0, 2.0])),
    *rows("searchsorted", torch.searchsorted, values([[1.0, 2.0, 4.0], [0.0, 3.0, 5.0]]), uniform(2, 6, high=6)),
    *rows("searchsorted-right", lambda *x: torch.searchsorted(*x, right=True), values([1, 2, 2, 4]), integers(2, 6, high=6)),
    *rows("searchsorted-number", lambda s: torch.searchsorted(s, 2), values([1, 2, 2, 4])),
    *rows("nonzero", torch.nonzero, randn(3, 4, dtype=torch.int64), layouts=LAYOUTS),
    *rows("nonzero-none", torch.nonzero, values([[0, 0], [0, 0]])),
    *rows("nonzero-0-dim", torch.nonzero, values(3.0)),
    *rows("masked_select", torch.masked_select, randn(3, 4), booleans(3, 4), dtypes=(*FLOATS, torch.int64), layouts=LAYOUTS),
    *rows("masked_select-broadcast", torch.masked_select, randn(3, 4), booleans(4)),
    *rows("unique", torch.unique, integers(20, high=6), layouts=LAYOUTS),
    *rows("unique-float", torch.unique, integers(20, high=6, dtype=None), dtypes=FLOATS),
    *rows("unique-both", lambda x: torch.unique(x, return_inverse=True, return_counts=True), integers(4, 5, high=6)),
    *rows("unique-helper", lambda x: torch.ops.aten._unique(x, True, True), integers(4, 5, high=6)),
    *rows("unique-dim", lambda x: torch.unique(x, dim=0), integers(9, 2, high=2)),
    *rows("unique-dim-both", lambda x: torch.unique(x, dim=1, return_inverse=True, return_counts=True), integers(2, 9, high=2)),
    *rows("unique_consecutive", torch.unique_consecutive, integers(20, high=2)),
    *rows("unique_consecutive-both", lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), integers(20, high=2)),
    *rows("unique_consecutive-dim", lambda x: torch.unique_consecutive(x, dim=0), integers(20, 1, high=2)),
]
ROWS = [
    ("aclnnBucketize", [LINE, EDGES], (False, False), lambda x, b: (x[:, None] > b).sum(1), FLOATS[:2]),
    ("aclnnBucketize", [LINE, EDGES], (False, True), lambda x, b: (x[:, None] >= b).sum(1), FLOATS[:2]),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_argsort(dtype, descending):
    values = torch.tensor([[3, 1, 2, 1], [0, 0, -5, 7]], dtype=dtype)
    # Equal values stay in their order.
    expected = [sorted(range(4), key=lambda i, row=row: (-row[i] if descending else row[i], i)) for row in values.tolist()]
    check("aclnnArgsort", (values, -1, descending), torch.tensor(expected))


test_definitions = definitions(ROWS)


test_torchs_functions = table(CASES)


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
