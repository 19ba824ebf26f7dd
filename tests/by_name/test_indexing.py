"""Selection, sorting and boxes, called by name, against plain Python."""

import itertools
import math

import pytest
import torch

from support.named_operators import Stored, refuses, run

X = torch.tensor([[3.0, -1.0, 2.0, 2.0], [0.0, 5.0, -4.0, 1.0], [7.0, 0.0, 0.0, -2.0]])


def numbers(*values):
    return Stored(torch.tensor(values, dtype=torch.int64), on_host=True)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_gather_and_scatter(acl, dtype):
    index = torch.tensor([[0, 3], [1, 1], [2, 0]], dtype=dtype)
    (got,) = run(acl, "GatherElements", [X, index], [torch.empty(3, 2)], dim=1)
    assert got.tolist() == [[X[i, j].item() for j in row] for i, row in enumerate(index.tolist())]
    (got,) = run(acl, "GatherV2", [X, torch.tensor([[2, 0], [1, 2]], dtype=dtype), numbers(0)], [torch.empty(2, 2, 4)], batch_dims=0)
    assert got.tolist() == [[X[i].tolist() for i in row] for row in ((2, 0), (1, 2))]
    updates = torch.tensor([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]])
    expected = X.tolist()
    for i, j in itertools.product(range(3), range(2)):
        expected[i][int(index[i, j])] = updates[i, j].item()
    (got,) = run(acl, "ScatterElements", [X, index, updates], [torch.empty_like(X)], axis=1)
    assert got.tolist() == expected
    expected = X.tolist()
    for i, j in itertools.product(range(3), range(2)):
        expected[i][int(index[i, j])] += updates[i, j].item()
    (got,) = run(acl, "ScatterElements", [X, index, updates], [torch.empty_like(X)], axis=1, reduction="add")
    assert got.tolist() == expected


def test_results_whose_size_depends_on_the_data(acl):
    places = [[i, j] for i, j in itertools.product(range(3), range(4)) if X[i, j] != 0]
    room, version = torch.zeros(12, 2, dtype=torch.int64), "aclopCompileAndExecuteV2"
    (got,) = run(acl, "NonZero", [X], [room], function_name=version, transpose=False)
    assert got.tolist() == places
    (got,) = run(acl, "NonZero", [X], [room], function_name=version, transpose=True)
    assert got.tolist() == [list(side) for side in zip(*places, strict=True)]
    (got,) = run(acl, "MaskedSelect", [X, X > 1], [torch.zeros(12)], function_name=version)
    assert got.tolist() == [value for value in X.reshape(-1).tolist() if value > 1]
    rows, places = torch.tensor([[2.0, 1.0], [0.0, 3.0], [2.0, 1.0]]), torch.zeros(3, dtype=torch.int64)
    outs, options = [torch.zeros(3, 2), places, places.clone(), places.clone()], {"sorted": True, "return_inverse": True}
    values, _, counts, inverse = run(acl, "UniqueWithCountsExt2", [rows, numbers(0)], outs, function_name=version, **options)
    assert (values.tolist(), counts.tolist(), inverse.tolist()) == ([[0, 3], [2, 1]], [1, 2], [1, 0, 1])


@pytest.mark.parametrize("descending", [False, True])
def test_sorting(acl, descending):
    values, places = run(acl, "Sort", [X], [torch.empty_like(X), torch.empty(3, 4, dtype=torch.int32)], axis=-1, descending=descending)
    expected = [sorted(range(4), key=lambda j, row=row: -row[j] if descending else row[j]) for row in X.tolist()]
    assert places.tolist() == expected
    assert values.tolist() == [[row[j] for j in order] for row, order in zip(X.tolist(), expected, strict=True)]
    outs = [torch.empty(3, 2), torch.empty(3, 2, dtype=torch.int32)]
    values, places = run(acl, "TopKV2", [X, numbers(2)], outs, dim=-1, largest=descending, sorted=True)
    assert values.tolist() == [sorted(row, reverse=descending)[:2] for row in X.tolist()]
    assert [[X[i, j].item() for j in row] for i, row in enumerate(places.tolist())] == values.tolist()


def test_loss_against_a_distribution(acl):
    labels = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.0, 1.0]])
    loss, grad = run(acl, "SoftmaxCrossEntropyWithLogits", [X, labels], [torch.empty(3), torch.empty_like(X)])
    for i, row in enumerate(X.tolist()):
        total = math.fsum(map(math.exp, row))
        expected = -math.fsum(weight * math.log(math.exp(value) / total) for weight, value in zip(labels[i].tolist(), row, strict=True))
        assert math.isclose(loss[i], expected, rel_tol=1e-5)
        for j, value in enumerate(row):
            assert math.isclose(grad[i, j], math.exp(value) / total - labels[i, j].item(), rel_tol=1e-4, abs_tol=1e-6)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_loss_of_one_class_of_each_row(acl, reduction):
    classes, weights, ignored = [2, 0, 1], [0.5, 2.0, 1.5, 1.0], 1
    given = [X, torch.tensor(classes, dtype=torch.int32), torch.tensor(weights)]
    attributes = {"reduction": reduction, "ignore_index": ignored}
    of_row = [0.0 if c == ignored else weights[c] for c in classes]
    total, losses = sum(of_row), [-w * X[i, c].item() for i, (w, c) in enumerate(zip(of_row, classes, strict=True))]
    expected = {"none": losses, "mean": [sum(losses) / total], "sum": [sum(losses)]}[reduction]
    loss, total_weight = run(acl, "NLLLoss", given, [torch.empty(len(expected)), torch.empty(1)], **attributes)
    torch.testing.assert_close(loss, torch.tensor(expected))
    grad = torch.arange(1.0, 1 + len(expected))
    (got,) = run(acl, "NLLLossGrad", [given[0], grad, *given[1:], total_weight], [torch.ones_like(X)], **attributes)
    expected = torch.zeros_like(X)
    for i, (weight, c) in enumerate(zip(of_row, classes, strict=True)):
        expected[i, c] = -weight * grad[i if reduction == "none" else 0] / (total if reduction == "mean" else 1)
    torch.testing.assert_close(got, expected)


def test_reduction_of_a_loss_that_is_refused(acl):
    inputs, outputs = [X, torch.zeros(3, dtype=torch.int32), torch.ones(4)], [torch.empty(1), torch.empty(1)]
    refuses(acl, "attribute reduction: expected none, mean or sum, got max", "NLLLoss", inputs, outputs, reduction="max")


def test_boxes_as_differences_and_back(acl):
    boxes = torch.tensor([[1.0, 2.0, 30.0, 40.0], [3.0, 4.0, 15.0, 26.0]])
    others = torch.tensor([[2.0, 5.0, 25.0, 44.0], [1.0, 7.0, 18.0, 20.0]])
    coding = {"means": [0.1, -0.2, 0.05, 0.0], "stds": [0.5, 0.5, 0.25, 0.2]}
    (code,) = run(acl, "BoundingBoxEncode", [boxes, others], [torch.empty(2, 4)], **coding)
    for i in range(2):
        (x1, y1, x2, y2), (a1, b1, a2, b2) = boxes[i].tolist(), others[i].tolist()
        w, h = x2 - x1 + 1, y2 - y1 + 1
        plain = [(a1 + a2 - x1 - x2) / 2 / w, (b1 + b2 - y1 - y2) / 2 / h, math.log((a2 - a1 + 1) / w), math.log((b2 - b1 + 1) / h)]
        expected = [(value - mean) / std for value, mean, std in zip(plain, coding["means"], coding["stds"], strict=True)]
        torch.testing.assert_close(code[i], torch.tensor(expected), rtol=1e-5, atol=1e-5)
    (back,) = run(acl, "BoundingBoxDecode", [boxes, code], [torch.empty(2, 4)], max_shape=[100, 100], wh_ratio_clip=0.01, **coding)
    torch.testing.assert_close(back, others, rtol=1e-4, atol=1e-4)
    (cut,) = run(acl, "BoundingBoxDecode", [boxes, code], [torch.empty(2, 4)], max_shape=[30, 20], wh_ratio_clip=0.01, **coding)
    limits = torch.tensor([19.0, 29.0, 19.0, 29.0])
    torch.testing.assert_close(cut, torch.minimum(others, limits), rtol=1e-4, atol=1e-4)


def test_one_hot(acl):
    classes, on, off = torch.tensor([2, 0, 1], dtype=torch.int32), torch.tensor([5.0]), torch.tensor([-1.0])
    expected = [[5.0 if column == row else -1.0 for column in range(4)] for row in (2, 0, 1)]
    assert run(acl, "OneHotD", [classes, on, off], [torch.empty(3, 4)], axis=-1, depth=4)[0].tolist() == expected
    (got,) = run(acl, "OneHotD", [classes, on, off], [torch.empty(4, 3)], axis=0, depth=4)
    assert got.tolist() == [list(column) for column in zip(*expected, strict=True)]


def test_sorted_values(acl):
    (got,) = run(acl, "SortV2", [X], [torch.empty_like(X)], axis=-1, descending=True)
    assert got.tolist() == [sorted(row, reverse=True) for row in X.tolist()]


def test_signs_as_bits(acl):
    x = torch.tensor([1.0, -1.0, 0.0, -2.0, 3.0, -1.0, -1.0, 5.0, -1.0, 2.0])
    (packed,) = run(acl, "SignBitsPack", [x], [torch.empty(1, 2, dtype=torch.uint8)], size=1)
    assert packed.tolist() == [[0b10010101, 0b10]]
    (signs,) = run(acl, "SignBitsUnpack", [packed], [torch.empty(1, 16)], size=1)
    assert signs.tolist() == [[1.0 if value >= 0 else -1.0 for value in x.tolist()] + [-1.0] * 6]


def test_filled_ranges(acl):
    begin, end = torch.tensor([[0, 1, 2]], dtype=torch.int32), torch.tensor([[2, 3, 4]], dtype=torch.int32)
    (got,) = run(acl, "MaskedFillRange", [X, begin, end, torch.tensor([9.0])], [torch.empty_like(X)], axis=1)
    assert got.tolist() == [[9.0 if j <= k < j + 2 else value for k, value in enumerate(row)] for j, row in enumerate(X.tolist())]
    (got,) = run(acl, "MaskedFillRange", [X, begin[:, :1], end[:, :1], torch.tensor([9.0])], [torch.empty_like(X)], axis=0)
    assert got.tolist() == [[9.0] * 4] * 2 + [X[2].tolist()]
