"""indexing.cpp against definitions in float64."""

import ctypes

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, FLOATS, check, definitions, drawn, on_npu

from cases import LAYOUTS, booleans, constant, integers, randn, rows, table, values
from direct import call, client, fails

PLACES = torch.tensor([[2, 1], [0, 3]])
CUBES = [drawn(3, 4, 5)]
DTYPES = (torch.float32, torch.float16, torch.int64, torch.bool)  # a type of each size, because elements are only moved
X = randn(4, 5, 6)


def assigned(x, index, value):
    x[index] = value
    return x


def accumulated(x, index, value):
    return x.index_put_((index,), value, accumulate=True)


def bag(mode):
    return lambda w, i, o: F.embedding_bag(i, w, o, mode=mode)


def weighted_bag(w, i, p):
    return F.embedding_bag(i, w, mode="sum", per_sample_weights=p, padding_idx=1)


def reduced(reduce, include):
    return lambda x, i, v: x.scatter_reduce(1, i, v, reduce, include_self=include)


OF_SIZES, STRIDED, GRADIENT = {"dtypes": DTYPES, "layouts": LAYOUTS}, {"layouts": LAYOUTS, "close": True}, {"backward": True, "close": True}
SCATTERED = randn(4, 5), integers(4, 9, high=5), randn(4, 9)
SPREAD, BAGS = (
    (randn(4, 5), values([[0, 3], [1, 2], [4, 0], [2, 1]]), randn(4, 2)),
    (randn(6, 3), integers(9, high=6), values([0, 4, 4, 7])),
)
LONG, ROUNDED = (torch.float32, torch.int64), {"dtypes": FLOATS, "close": True, "upcast": True}
CASES = [
    *rows("index", lambda x, i: x[i], X, integers(2, 3, low=-4, high=4), **OF_SIZES),
    *rows("index-two", lambda x, i, j: x[i, j], X, integers(3, high=4), integers(2, 1, high=5), layouts=LAYOUTS),
    *rows("index-apart", lambda x, i, j: x[i, :, j], X, integers(3, high=4), integers(3, high=6), layouts=LAYOUTS),
    *rows("index-slice", lambda x, i: x[1:, i, ::2], X, integers(3, high=5), layouts=LAYOUTS),
    *rows("index-int32", lambda x, i: x[i], X, integers(3, high=4, dtype=torch.int32)),
    *rows("index-nothing", lambda x, i: x[i], X, integers(0, high=4), dtypes=LONG),
    *rows("index-mask", lambda x, m: x[m], X, booleans(4, 5, 6), **OF_SIZES),
    *rows("index-mask-columns", lambda x, m: x[:, m], X, booleans(5), dtypes=LONG, layouts=LAYOUTS),
    *rows("index-mask-none", lambda x: x[x > 99], X, dtypes=LONG),
    *rows("index_select", lambda x, i: x.index_select(1, i), X, integers(7, high=5), **OF_SIZES),
    *rows("gather", lambda x, i: x.gather(1, i), X, integers(4, 3, 6, high=5), **OF_SIZES),
    *rows("take", torch.take, X, integers(2, 3, high=100), layouts=LAYOUTS),
    *rows("put-number", lambda x, i: assigned(x, i, 1.5), X, integers(3, high=4), dtypes=FLOATS[:2], layouts=LAYOUTS),
    *rows("put-tensor", assigned, X, integers(3, low=-1, high=0), randn(1, 5, 6), **OF_SIZES),
    *rows("put-columns", lambda x, i, v: assigned(x, (slice(None), i), v), X, values([2, 0]), randn(4, 2, 6), layouts=LAYOUTS),
    *rows("put-mask", lambda x: assigned(x, x > 0, 1), X, dtypes=(*FLOATS, torch.int64), layouts=LAYOUTS),
    *rows("put-mask-rows", assigned, X, values([True, False, True, False]), randn(2, 5, 6), dtypes=LONG),
    *rows("put-nothing", assigned, randn(4, 5), integers(0), randn(1, 5), dtypes=LONG),
    *rows("index_put_-accumulate", accumulated, X, values([1, 1, 3]), randn(3, 5, 6), **STRIDED),
    *rows("index_put_-accumulate-many", accumulated, randn(2, 3), integers(200, high=2), randn(200, 3), **ROUNDED),
    *rows("put_", lambda x, i, v: x.put_(i, v), X, values([1, 100, 7]), randn(3), layouts=LAYOUTS),
    *rows("masked_fill", lambda x, m: x.masked_fill(m, 2.5), X, booleans(5, 1), dtypes=FLOATS[:2], layouts=LAYOUTS),
    *rows("masked_fill_-tensor", lambda x, m, v: x.masked_fill_(m, v), X, booleans(6), randn(), layouts=LAYOUTS),
    *rows("masked_scatter_", lambda x, m, v: x.masked_scatter_(m, v), X, booleans(4, 5, 6), randn(120), layouts=LAYOUTS),
    *rows("scatter", lambda x, i, v: x.scatter(1, i, v), *SPREAD, dtypes=FLOATS[:2], layouts=LAYOUTS),
    *rows("scatter_", lambda x, i, v: x.scatter_(1, i, v), randn(4, 5), values([[0, 3], [1, 2]]), randn(4, 2), layouts=LAYOUTS),
    *rows("scatter-number", lambda x, i: x.scatter(1, i, 2.5), randn(4, 5), integers(4, 2, high=5), dtypes=FLOATS[:2], layouts=LAYOUTS),
    *rows("scatter_-number", lambda x, i: x.scatter_(0, i, 1), randn(4, 5), integers(4, 2, high=4), layouts=LAYOUTS),
    *rows("scatter-add", lambda x, i, v: x.scatter(1, i, v, reduce="add"), randn(4, 5), integers(4, 2, high=5), randn(4, 2), close=True),
    *rows("scatter-multiply", lambda x, i: x.scatter(1, i, 2.0, reduce="multiply"), randn(4, 5), integers(4, 2, high=5), close=True),
    *rows("embedding-max-norm", lambda w, i: F.embedding(i, w * 1, max_norm=1.0), randn(4, 3), integers(2, 2, high=4), close=True),
    *(case for mode in ("sum", "mean", "max") for case in rows(f"embedding_bag-{mode}", bag(mode), *BAGS, **GRADIENT)),
    *rows("embedding_bag-weights", weighted_bag, randn(6, 3), integers(3, 4, high=6), constant(randn(3, 4)), **GRADIENT),
    *rows("coalesce", lambda *x: torch.sparse_coo_tensor(*x, (3, 4)).coalesce().to_dense(), integers(2, 9, high=3), randn(9), close=True),
    *rows("scatter_add", lambda x, i, v: x.scatter_add(1, i, v), *SCATTERED, **STRIDED),
    *[
        case
        for reduce in ("sum", "prod", "amax", "amin", "mean")
        for include in (True, False)
        for case in rows(f"scatter_reduce-{reduce}-{include}", reduced(reduce, include), *SCATTERED, close=True)
    ],
    *rows("scatter_reduce_", lambda x, i, v: x.scatter_reduce_(1, i, v, "sum"), *SCATTERED, close=True),
    *rows("index_add", lambda x, i, v: x.index_add(1, i, v, alpha=2), randn(4, 5), integers(7, high=5), randn(4, 7), **STRIDED),
    *rows("index_copy", lambda x, i, v: x.index_copy(1, i, v), randn(4, 5), values([3, 0]), randn(4, 2), layouts=LAYOUTS),
    *rows("index_copy_", lambda x, i, v: x.index_copy_(0, i, v), randn(4, 5), values([3, 0]), randn(2, 5), layouts=LAYOUTS),
    *rows("index_fill", lambda x, i: x.index_fill(1, i, 2.5), randn(4, 5), values([3, 0]), layouts=LAYOUTS),
    *rows("index_fill_", lambda x, i: x.index_fill_(0, i, 2.5), randn(4, 5), values([3, 0]), layouts=LAYOUTS),
    *rows("embedding", lambda w, i: F.embedding(i, w, padding_idx=1), randn(10, 4), integers(2, 9), dtypes=FLOATS, **GRADIENT),
]
test_torchs_functions = table(CASES)
ROWS = [("aclnnGatherNd", CUBES, (-1 - PLACES[:, :1], True), lambda x: torch.stack([x[0], x[2]]), FLOATS)]
test_definitions = definitions(ROWS)


def test_positions_from_the_end_are_refused_unless_asked_for():
    words = "indices: expected values in [0, 3), got -2"
    fails(words, "aclnnGatherNd", torch.zeros(3, 4), -PLACES[:, :1], False, torch.zeros(2, 4))


def test_an_index_out_of_range_is_found():
    x, index = torch.ones(3, device=DEVICE), torch.tensor([3], device=DEVICE)
    with pytest.raises(RuntimeError, match="out of"):
        x.index_select(0, index)
        torch.npu.synchronize()


def test_the_deterministic_switch_does_not_reach_aten():
    index = torch.tensor([[[[0, 3], [8, 12]]]], device=DEVICE)
    torch.use_deterministic_algorithms(True)
    try:
        plane = F.max_unpool2d(torch.ones(1, 1, 2, 2, device=DEVICE), index, 2)
        volume = F.max_unpool3d(torch.ones(1, 1, 1, 2, 2, device=DEVICE), index.unsqueeze(2), (1, 2, 2))
        put = torch.zeros(4, 2, device=DEVICE).t().put_(index[0, 0, 0], torch.ones(2, device=DEVICE))
        assert (plane.sum().item(), volume.sum().item(), put.flatten().tolist()) == (4, 4, [1, 0, 0, 1, 0, 0, 0, 0])
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("depth", [1, 2])
def test_scatter_at_positions(depth):
    data, index = torch.zeros(3, 4), torch.tensor([[2, 1], [0, 3]])[:, :depth]
    updates = torch.arange(1.0, 9).reshape(2, 4) if depth == 1 else torch.tensor([5.0, 6.0])
    expected, updated = data.clone(), data.to(DEVICE)
    for place, update in zip(index.tolist(), updates, strict=True):
        expected[tuple(place)] = update
    check("aclnnScatterNd", (data, index, updates), expected)
    call("aclnnScatterNdUpdate", updated, index, updates)
    assert updated.cpu().equal(expected)
    fails("indices: expected values in [0, 3), got 5", "aclnnScatterNdUpdate", updated, index + 3, updates)


@pytest.mark.parametrize("index_type", [torch.int32, torch.int64], ids=str)
def test_gather_v2(index_type):
    values, index = torch.arange(24.0).reshape(2, 3, 4), torch.tensor([[2, 0], [1, 1]])
    check("aclnnGatherV2", (values, 1, index.to(index_type)), torch.stack([values[:, i] for i in index.flatten()], 1).view(2, 2, 2, 4))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gather_and_add_of_rows(dtype):
    x, index, source = drawn(4, 3).to(dtype), torch.tensor([[2, 0, 2], [1, 2, 3]]), drawn(3, 3, seed=6).to(dtype)
    gathered = on_npu(torch_npu.npu_gather_sparse_index, x, index)
    assert torch.equal(gathered.cpu(), x[index])
    added = on_npu(torch.ops.npu._npu_index_add, x, index[0], source, alpha=1)
    expected = x.index_add(0, index[0], source)
    torch.testing.assert_close(added.cpu(), expected)
    in_place = x.to(DEVICE)
    on_npu(torch.ops.npu._npu_index_add_, in_place, index[0], source, alpha=1)
    torch.testing.assert_close(in_place.cpu(), expected)


def test_no_indices_choose_everything():
    x = torch.randn(2, 3)
    check("aclnnIndex", (x, ctypes.c_void_p(client().opapi.aclCreateTensorList(None, 0))), x)
