"""Unsigned integers of 16 bits and more, of which ATen has few kernels: what moves them keeps their bits, and the upper one is no sign."""

import math
import operator

import pytest
import torch
import torch.nn.functional as F
from checks import DEVICE, check, zeros

from direct import call, scalar

SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
of_each_width = pytest.mark.parametrize("dtype", SIGNED, ids=str)


def matrix(dtype):
    """Numbers up to the type's largest."""
    largest = torch.iinfo(dtype).max
    return torch.tensor([[1, 2, 3], [4, largest // 2 + 1, largest]], dtype=dtype)


MASK, OTHER = torch.tensor([True, False, True]), torch.tensor([6, 5, 3])
# An entry point, its arguments behind the tensor, the same of signed numbers, and the data type if it is of one only.
MOVED = [
    ("Tril", (0,), torch.tril),
    ("Tril", (1,), lambda x: x.tril(1)),
    ("Triu", (0,), torch.triu),
    ("Permute", ([1, 0],), lambda x: x.t()),
    ("Repeat", ([1, 2],), lambda x: x.repeat(1, 2)),
    ("Roll", ([1], [1]), lambda x: x.roll(1, 1), torch.uint32),
    ("Take", (torch.tensor([5, 0, 4]),), lambda x: x.flatten()[[5, 0, 4]]),
    ("ConstantPadNd", ([1, 1], scalar(7)), lambda x: F.pad(x, (1, 1), value=7)),
    ("BitwiseAndTensor", (OTHER,), lambda x: x & OTHER.to(x.dtype)),
    ("BitwiseOrTensor", (OTHER,), lambda x: x | OTHER.to(x.dtype)),
    ("BitwiseAndScalar", (scalar(5),), lambda x: x & 5, torch.uint16),
    ("BitwiseOrScalar", (scalar(8),), lambda x: x | 8, torch.uint16),
    ("InplaceTril", (0,), torch.tril),
    ("InplaceTriu", (0,), torch.triu),
    ("InplaceZero", (), torch.zeros_like, torch.uint16),
    ("InplaceBitwiseAndScalar", (scalar(5),), lambda x: x & 5, torch.uint16),
    ("InplaceBitwiseAndTensor", (OTHER,), lambda x: x & OTHER.to(x.dtype), torch.uint16),
]


@of_each_width
def test_elements_are_moved_with_their_bits(dtype):
    for name, arguments, function, *only in MOVED:
        if only and dtype not in only:
            continue
        given = [one.to(dtype) if one is OTHER else one for one in arguments]
        for x in (matrix(dtype), matrix(dtype).t().contiguous().t()):
            expected, there = function(x.view(SIGNED[dtype])), x.to(DEVICE)
            outs = () if name.startswith("Inplace") else (zeros(*expected.shape, dtype=dtype),)
            call(f"aclnn{name}", there, *given, *outs)
            assert (*outs, there)[0].cpu().view(SIGNED[dtype]).equal(expected), name
    x, out = matrix(dtype), zeros(2, 3, dtype=dtype)
    call("aclnnSWhere", MASK, x, x[[1, 0]], out)
    assert out.cpu().view(SIGNED[dtype]).equal(torch.where(MASK, x.view(SIGNED[dtype]), x[[1, 0]].view(SIGNED[dtype])))


@of_each_width
def test_what_is_not_zero_and_rows_that_are_different_are_found(dtype):
    values = matrix(dtype)
    values[0, 0] = 0
    check("aclnnNonzeroV2", (values,), torch.tensor([[0, 0, 1, 1, 1], [1, 2, 0, 1, 2]]))
    twice = torch.cat([values, values])
    out, inverse, counts = (t.to(DEVICE) for t in (twice.clone(), *torch.zeros(2, 4, dtype=torch.int64)))
    call("aclnnUniqueDim", twice, True, True, 0, out, inverse, counts)
    assert out.tolist()[:2] == values.tolist() and inverse.tolist() == [0, 1, 0, 1] and counts.tolist()[:2] == [2, 2]


@pytest.mark.parametrize(("name", "base"), [("", math.e), ("2", 2)])
def test_exponentials_are_added_in_the_results_type(name, base):
    exact = torch.tensor([math.log(base**a + base**b, base) for a, b in ((0, 0), (3, 1), (9, 9))], dtype=torch.float64)
    for dtype in (*SIGNED, torch.int32):
        x, y = torch.tensor([0, 3, 9], dtype=dtype), torch.tensor([0, 1, 9], dtype=dtype)
        check(f"aclnnLogAddExp{name}", (x, y), exact, dtype=torch.float32)


ORDERS = {"Lt": operator.lt, "Le": operator.le, "Gt": operator.gt, "Ge": operator.ge}


@pytest.mark.parametrize(("name", "dtype"), [(n, dtype) for n in ORDERS for dtype in SIGNED if n != "Le" or dtype == torch.uint16])
def test_the_upper_bit_is_not_a_sign(name, dtype):
    x = matrix(dtype)
    y, numbers = x[:, [2, 1, 0]], torch.tensor([0, 3, torch.iinfo(dtype).max], dtype=dtype)
    expected = torch.tensor([[ORDERS[name](a, b) for a, b in zip(*rows, strict=True)] for rows in zip(x.tolist(), y.tolist(), strict=True)])
    check(f"aclnn{name}Tensor", (x, y), expected)
    if name == "Ge":
        there = x.to(DEVICE)
        call("aclnnInplaceGeTensor", there, y)
        assert there.tolist() == expected.int().tolist()
    for number in (0, 3) if dtype != torch.uint64 or name == "Ge" else ():
        check(f"aclnn{name}Scalar", (numbers, scalar(number)), torch.tensor([ORDERS[name](each, number) for each in numbers.tolist()]))


@pytest.mark.parametrize("dtype", [torch.uint32, torch.uint64])
def test_numbers_equal_a_number(dtype):
    x = torch.tensor([0, 3, torch.iinfo(dtype).max], dtype=dtype)
    check("aclnnEqScalar", (x, scalar(3)), torch.tensor([False, True, False]))
