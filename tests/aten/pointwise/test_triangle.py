"""triangle.cpp against definitions in float64."""

import itertools

import pytest
import torch
from checks import DEVICE

# Rows are copied as bytes, so that types differ in their size only.
TRIANGLES = [*itertools.product([(2, 3, 5), (2, 6, 2)], [-100, -2, 0, 1, 3, 100]), ((0, 3), 1), ((3, 0), 1), ((257, 200), -2)]
SIZED = itertools.cycle((torch.bool, torch.float16, torch.float32, torch.int64))


@pytest.mark.parametrize(("shape", "diagonal", "dtype"), [(*row, dtype) for row, dtype in zip(TRIANGLES, SIZED, strict=False)])
def test_triangles_of_every_diagonal(shape, diagonal, dtype):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).mul(9).to(dtype)
    for name in ("tril", "triu"):
        expected = getattr(x, name)(diagonal)
        assert torch.equal(getattr(x.to(DEVICE), name)(diagonal).cpu(), expected)
        assert torch.equal(getattr(x.to(DEVICE), name + "_")(diagonal).cpu(), expected)
