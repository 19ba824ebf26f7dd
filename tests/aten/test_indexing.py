"""indexing.cpp: reading and writing at positions that a tensor gives."""

import pytest
import torch

from cases import DEVICE, FLOATS, LAYOUTS, booleans, constant, integers, randn, rows, table, values

DTYPES = (torch.float32, torch.float16, torch.int64, torch.bool)  # one of each size: elements are moved
X = randn(4, 5, 6)


def assigned(x, index, value):
    x[index] = value
    return x


READ = [
    *rows("index", lambda x, i: x[i], X, integers(2, 3, low=-4, high=4), dtypes=DTYPES, layouts=LAYOUTS),
    *rows("index-second", lambda x, i: x[:, i], X, integers(3, high=5), layouts=LAYOUTS),
    *rows("index-last", lambda x, i: x[..., i], X, integers(3, high=5), layouts=LAYOUTS),
    *rows("index-two", lambda x, i, j: x[i, j], X, integers(3, high=4), integers(2, 1, high=5), layouts=LAYOUTS),
    *rows("index-apart", lambda x, i, j: x[i, :, j], X, integers(3, high=4), integers(3, high=6), layouts=LAYOUTS),
    *rows("index-slice", lambda x, i: x[1:, i, ::2], X, integers(3, high=5), layouts=LAYOUTS),
    *rows("index-int32", lambda x, i: x[i], X, integers(3, high=4, dtype=torch.int32)),
    *rows("index-nothing", lambda x, i: x[i], X, integers(0, high=4), dtypes=(torch.float32, torch.int64)),
    *rows("index-mask", lambda x, m: x[m], X, booleans(4, 5, 6), dtypes=DTYPES, layouts=LAYOUTS),
    *rows("index-mask-rows", lambda x, m: x[m], X, booleans(4), dtypes=(torch.float32, torch.int64), layouts=LAYOUTS),
    *rows("index-mask-columns", lambda x, m: x[:, m], X, booleans(5), dtypes=(torch.float32, torch.int64), layouts=LAYOUTS),
    *rows("index-mask-none", lambda x: x[x > 99], X, dtypes=(torch.float32, torch.int64)),
    *rows("index-integers", lambda x, i: x[:, i], randn(4, 5, dtype=torch.int64), integers(3, high=5)),
    *rows("index_select", lambda x, i: x.index_select(1, i), X, integers(7, high=5), dtypes=DTYPES, layouts=LAYOUTS),
    *rows("index_select-int32", lambda x, i: x.index_select(0, i), X, integers(7, high=4, dtype=torch.int32)),
    *rows("gather", lambda x, i: x.gather(1, i), X, integers(4, 3, 6, high=5), dtypes=DTYPES, layouts=LAYOUTS),
    *rows("gather-smaller", lambda x, i: x.gather(0, i), X, integers(2, 3, 4, high=4), layouts=LAYOUTS),
    *rows("take", torch.take, X, integers(2, 3, high=100), layouts=LAYOUTS),
    *rows("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 2), X, integers(4, 5, 2, high=6)),
    *rows("embedding", lambda w, i: torch.nn.functional.embedding(i, w), randn(10, 4), integers(2, 3), dtypes=FLOATS[:2], layouts=LAYOUTS),
]

WRITE = [
    *rows("put-number", lambda x, i: assigned(x, i, 1.5), X, integers(3, high=4), dtypes=FLOATS[:2], layouts=LAYOUTS),
    *rows("put-tensor", assigned, X, integers(3, low=-1, high=0), randn(1, 5, 6), dtypes=DTYPES, layouts=LAYOUTS),
    *rows("put-rows", assigned, X, values([2, 0, 3]), randn(3, 5, 6), dtypes=DTYPES, layouts=LAYOUTS),
    *rows("put-columns", lambda x, i, v: assigned(x, (slice(None), i), v), X, values([2, 0]), randn(4, 2, 6), layouts=LAYOUTS),
    *rows("put-mask", lambda x: assigned(x, x > 0, 1), X, dtypes=(*FLOATS, torch.int64), layouts=LAYOUTS),
    *rows("put-mask-none", lambda x: assigned(x, x > 99, 1), X, dtypes=(*FLOATS, torch.int64)),
    *rows("put-mask-rows", assigned, X, values([True, False, True, False]), randn(2, 5, 6), dtypes=(torch.float32, torch.int64)),
    *rows("put-nothing", assigned, randn(4, 5), integers(0), randn(1, 5), dtypes=(torch.float32, torch.int64)),
    *rows("put-integers", lambda x, i: assigned(x, (slice(None), i), 7), randn(4, 5, dtype=torch.int64), integers(3, high=5)),
    *rows(
        "index_put_-accumulate",
        lambda x, i, v: x.index_put_((i,), v, accumulate=True),
        X,
        values([1, 1, 3]),
        randn(3, 5, 6),
        layouts=LAYOUTS,
        close=True,
    ),
    *rows(
        "index_put_-accumulate-many",
        lambda x, i, v: x.index_put_((i,), v, accumulate=True),
        randn(2, 3),
        integers(200, high=2),
        randn(200, 3),
        dtypes=FLOATS,
        close=True,
        upcast=True,
    ),
    *rows("index_put", lambda x, i, v: x.index_put((i,), v), X, values([1, 0]), randn(2, 5, 6)),
    *rows("put_", lambda x, i, v: x.put_(i, v), X, values([1, 100, 7]), randn(3), layouts=LAYOUTS),
    *rows("put_-accumulate", lambda x, i, v: x.put_(i, v, accumulate=True), X, values([1, 1, 7]), randn(3), close=True),
    *rows("masked_fill", lambda x, m: x.masked_fill(m, 2.5), X, booleans(5, 1), dtypes=FLOATS[:2], layouts=LAYOUTS),
    *rows("masked_fill_", lambda x, m: x.masked_fill_(m, 2), X, booleans(4, 5, 6), dtypes=(torch.float32, torch.int64), layouts=LAYOUTS),
    *rows("masked_fill_-infinity", lambda x, m: x.masked_fill_(m, -float("inf")), X, booleans(6), dtypes=FLOATS[:2]),
    *rows("masked_fill_-tensor", lambda x, m, v: x.masked_fill_(m, v), X, booleans(6), randn(), layouts=LAYOUTS),
    *rows("masked_scatter_", lambda x, m, v: x.masked_scatter_(m, v), X, booleans(4, 5, 6), randn(120), layouts=LAYOUTS),
    *rows(
        "scatter",
        lambda x, i, v: x.scatter(1, i, v),
        randn(4, 5),
        values([[0, 3], [1, 2], [4, 0], [2, 1]]),
        randn(4, 2),
        dtypes=FLOATS[:2],
        layouts=LAYOUTS,
    ),
    *rows("scatter_", lambda x, i, v: x.scatter_(1, i, v), randn(4, 5), values([[0, 3], [1, 2]]), randn(4, 2), layouts=LAYOUTS),
    *rows("scatter-number", lambda x, i: x.scatter(1, i, 2.5), randn(4, 5), integers(4, 2, high=5), dtypes=FLOATS[:2], layouts=LAYOUTS),
    *rows("scatter_-number", lambda x, i: x.scatter_(0, i, 1), randn(4, 5), integers(4, 2, high=4), layouts=LAYOUTS),
    *rows("scatter-add", lambda x, i, v: x.scatter(1, i, v, reduce="add"), randn(4, 5), integers(4, 2, high=5), randn(4, 2), close=True),
    *rows("scatter-multiply", lambda x, i: x.scatter(1, i, 2.0, reduce="multiply"), randn(4, 5), integers(4, 2, high=5), close=True),
    *rows(
        "embedding-max-norm",
        lambda w, i: torch.nn.functional.embedding(i, w * 1, max_norm=1.0),
        randn(4, 3),
        integers(2, 2, high=4),
        close=True,
    ),
    *(
        row
        for mode in ("sum", "mean", "max")
        for row in rows(
            f"embedding_bag-{mode}",
            lambda w, i, o, mode=mode: torch.nn.functional.embedding_bag(i, w, o, mode=mode),
            randn(6, 3),
            integers(9, high=6),
            values([0, 4, 4, 7]),
            backward=True,
            close=True,
        )
    ),
    *rows(
        "embedding_bag-weights",
        lambda w, i, p: torch.nn.functional.embedding_bag(i, w, mode="sum", per_sample_weights=p, padding_idx=1),
        randn(6, 3),
        integers(3, 4, high=6),
        constant(randn(3, 4)),
        backward=True,
        close=True,
    ),
    *rows(
        "coalesce", lambda i, v: torch.sparse_coo_tensor(i, v, (3, 4)).coalesce().to_dense(), integers(2, 9, high=3), randn(9), close=True
    ),
    *rows(
        "scatter_add", lambda x, i, v: x.scatter_add(1, i, v), randn(4, 5), integers(4, 9, high=5), randn(4, 9), layouts=LAYOUTS, close=True
    ),
    *rows(
        "scatter_add_",
        lambda x, i, v: x.scatter_add_(0, i, v),
        randn(4, 5),
        integers(9, 5, high=4),
        randn(9, 5),
        layouts=LAYOUTS,
        close=True,
    ),
    *[
        case
        for reduce in ("sum", "prod", "amax", "amin", "mean")
        for include in (True, False)
        for case in rows(
            f"scatter_reduce-{reduce}-{include}",
            lambda x, i, v, reduce=reduce, include=include: x.scatter_reduce(1, i, v, reduce, include_self=include),
            randn(4, 5),
            integers(4, 9, high=5),
            randn(4, 9),
            close=True,
        )
    ],
    *rows(
        "scatter_reduce_", lambda x, i, v: x.scatter_reduce_(1, i, v, "sum"), randn(4, 5), integers(4, 9, high=5), randn(4, 9), close=True
    ),
    *rows(
        "index_add",
        lambda x, i, v: x.index_add(1, i, v, alpha=2),
        randn(4, 5),
        integers(7, high=5),
        randn(4, 7),
        layouts=LAYOUTS,
        close=True,
    ),
    *rows(
        "index_add_",
        lambda x, i, v: x.index_add_(0, i, v),
        randn(4, 5),
        integers(7, high=4),
        randn(7, 5),
        dtypes=(torch.float32, torch.int64),
        close=True,
    ),
    *rows("index_copy", lambda x, i, v: x.index_copy(1, i, v), randn(4, 5), values([3, 0]), randn(4, 2), layouts=LAYOUTS),
    *rows("index_copy_", lambda x, i, v: x.index_copy_(0, i, v), randn(4, 5), values([3, 0]), randn(2, 5), layouts=LAYOUTS),
    *rows("index_fill", lambda x, i: x.index_fill(1, i, 2.5), randn(4, 5), values([3, 0]), layouts=LAYOUTS),
    *rows("index_fill_", lambda x, i: x.index_fill_(0, i, 2.5), randn(4, 5), values([3, 0]), layouts=LAYOUTS),
]

GRADIENTS = [
    *rows("index", lambda x, i: x[i], X, integers(3, high=4), backward=True, close=True),
    *rows("index-mask", lambda x: x[x > 0], X, backward=True),
    *rows("gather", lambda x, i: x.gather(1, i), X, integers(4, 3, 6, high=5), backward=True, close=True),
    *rows("index_select", lambda x, i: x.index_select(1, i), X, integers(7, high=5), backward=True, close=True),
    *rows("masked_fill", lambda x, m: x.masked_fill(m, 0), X, booleans(6), backward=True),
    *rows(
        "embedding",
        lambda w, i: torch.nn.functional.embedding(i, w, padding_idx=1),
        randn(10, 4),
        integers(2, 9),
        dtypes=FLOATS,
        backward=True,
        close=True,
    ),
    *rows(
        "embedding-frequency",
        lambda w, i: torch.nn.functional.embedding(i, w, scale_grad_by_freq=True),
        randn(4, 3),
        integers(9, high=4),
        backward=True,
        close=True,
    ),
    *rows(
        "scatter_add", lambda x, i, v: x.scatter_add(1, i, v), randn(4, 5), integers(4, 9, high=5), randn(4, 9), backward=True, close=True
    ),
]


@table(READ)
def test_read(case):
    case.check()


@table(WRITE)
def test_write(case):
    case.check()


@table(GRADIENTS)
def test_gradients(case):
    case.check()


def test_an_index_out_of_range_is_found():
    x, index = torch.ones(3, device=DEVICE), torch.tensor([3], device=DEVICE)
    with pytest.raises(RuntimeError, match="out of"):
        x.index_select(0, index)
        torch.npu.synchronize()


def test_the_deterministic_switch_does_not_reach_aten():
    index = torch.tensor([[[[0, 3], [8, 12]]]], device=DEVICE)
    torch.use_deterministic_algorithms(True)
    try:
        plane = torch.nn.functional.max_unpool2d(torch.ones(1, 1, 2, 2, device=DEVICE), index, 2)
        volume = torch.nn.functional.max_unpool3d(torch.ones(1, 1, 1, 2, 2, device=DEVICE), index.unsqueeze(2), (1, 2, 2))
        put = torch.zeros(4, 2, device=DEVICE).t().put_(index[0, 0, 0], torch.ones(2, device=DEVICE))
        assert (plane.sum().item(), volume.sum().item(), put.flatten().tolist()) == (4, 4, [1, 0, 0, 1, 0, 0, 0, 0])
    finally:
        torch.use_deterministic_algorithms(False)
