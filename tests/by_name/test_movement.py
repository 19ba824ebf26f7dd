"""Data movement, called by name: which element goes where."""

import itertools

import pytest
import torch

from support.dtypes import DType
from support.named_operators import Stored, run

NUMBERS = torch.arange(24, dtype=torch.int32).reshape(2, 3, 4)


def numbers(*values):
    return Stored(torch.tensor(values, dtype=torch.int64), on_host=True)


def by_index(sizes, source):
    """Return the tensor whose element at an index is what `source` gives for the index."""
    return torch.tensor([int(source(index)) for index in itertools.product(*map(range, sizes))], dtype=torch.int32).reshape(sizes)


CASES = {
    "Transpose": ([numbers(2, 0, 1)], {}, (4, 2, 3), lambda i: NUMBERS[i[1], i[2], i[0]]),
    "ConfusionTransposeD": (
        [], {"perm": [1, 0], "shape": [6, 4], "transpose_first": False}, (4, 6), lambda i: NUMBERS.reshape(6, 4)[i[1], i[0]],
    ),
    "BroadcastTo": ([numbers(2, 2, 3, 4)], {}, (2, 2, 3, 4), lambda i: NUMBERS[i[1:]]),
    "Tile": ([numbers(1, 2, 3)], {}, (2, 6, 12), lambda i: NUMBERS[i[0], i[1] % 3, i[2] % 4]),
    "ReverseV2": ([numbers(0, 2)], {}, (2, 3, 4), lambda i: NUMBERS[1 - i[0], i[1], 3 - i[2]]),
    "Roll": ([], {"shifts": [1], "dims": [1]}, (2, 3, 4), lambda i: NUMBERS[i[0], (i[1] - 1) % 3, i[2]]),
    "Slice": ([numbers(1, 0, 1), numbers(1, 2, -1)], {}, (1, 2, 3), lambda i: NUMBERS[1 + i[0], i[1], 1 + i[2]]),
    "StridedSlice": (
        [numbers(0, 9, 1), numbers(2, 9, 4), numbers(1, 2, 2)], {"begin_mask": 2, "end_mask": 2}, (2, 2, 2),
        lambda i: NUMBERS[i[0], 2 * i[1], 1 + 2 * i[2]],
    ),
    "AsStrided": ([numbers(2, 3), numbers(1, 5), numbers(2)], {}, (2, 3), lambda i: 2 + i[0] + 5 * i[1]),
    "Pad": (
        [numbers(0, 1, 1, 0, 2, 0)], {}, (3, 4, 6),
        lambda i: NUMBERS[i[0], i[1] - 1, i[2] - 2] if i[0] < 2 and i[1] > 0 and i[2] > 1 else 0,
    ),
    "Tril": ([], {"diagonal": 1}, (2, 3, 4), lambda i: NUMBERS[i] if i[2] - i[1] <= 1 else 0),
    "Triu": ([], {"diagonal": 1}, (2, 3, 4), lambda i: NUMBERS[i] if i[2] - i[1] >= 1 else 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_element_comes_from_its_place(acl, name):
    inputs, attributes, sizes, source = CASES[name]
    (got,) = run(acl, name, [NUMBERS, *inputs], [torch.full(sizes, -1, dtype=torch.int32)], **attributes)
    assert torch.equal(got, by_index(sizes, source))


def test_several_inputs(acl):
    other = NUMBERS + 100
    (got,) = run(acl, "ConcatD", [NUMBERS, other], [torch.empty(2, 6, 4, dtype=torch.int32)], N=2, concat_dim=1)
    assert torch.equal(got, by_index((2, 6, 4), lambda i: (NUMBERS if i[1] < 3 else other)[i[0], i[1] % 3, i[2]]))
    (got,) = run(acl, "Pack", [NUMBERS, other], [torch.empty(2, 3, 2, 4, dtype=torch.int32)], N=2, axis=2)
    assert torch.equal(got, by_index((2, 3, 2, 4), lambda i: (NUMBERS, other)[i[2]][i[0], i[1], i[3]]))


def test_fill(acl):
    (got,) = run(acl, "Fill", [numbers(2, 3), Stored(torch.tensor([7.0]), on_host=True)], [torch.empty(2, 3)])
    assert got.tolist() == [[7.0] * 3] * 2


def test_cast(acl):
    (got,) = run(acl, "Cast", [torch.tensor([1.9, -2.9])], [torch.empty(2, dtype=torch.int32)], dst_type=DType.INT32)
    assert got.tolist() == [1, -2]


def test_view_copy_leaves_the_rest(acl):
    target = torch.full((12,), -1, dtype=torch.int32)
    views = [target, numbers(2, 3), numbers(6, 2), numbers(1), NUMBERS, numbers(2, 3), numbers(4, 1), numbers(8)]
    (got,) = run(acl, "ViewCopy", views, [target])
    assert got.tolist() == [-1, 8, -1, 9, -1, 10, -1, 12, -1, 13, -1, 14]
