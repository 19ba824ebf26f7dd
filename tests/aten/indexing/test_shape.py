"""shape.cpp against definitions in float64."""

import pytest
import torch
from checks import DEVICE, FLOATS, WHOLE, check, definitions, drawn, zeros

from cases import LAYOUTS, randn, rows, table, values
from direct import call


def window_gradient(grad, step):
    """Return the gradient of windows of two elements along the middle one of the dimensions 3, 4 and 5."""
    out = torch.zeros(3, 4, 5, dtype=torch.float64)
    for i in range(grad.size(1)):
        out[:, i * step : i * step + 2] += grad[:, i].mT
    return out


CUBES = [drawn(3, 4, 5)]


def split_evenly(x, *parts):
    torch.split_with_sizes_copy(x, [2000] * len(parts), 1, out=parts)
    return parts


NUMBERS = torch.arange(210).reshape(5, 6, 7)
# An entry point, arguments behind the tensor, and what they give of it.
MOVED = [
    ("aclnnSliceV2", ([-4, 1], [99, -1], [0, 2], [3, 2]), NUMBERS[-4:99:3, :, 1:-1:2]),
    ("aclnnExpand", ([2, -1, 6, -1],), NUMBERS.expand(2, 5, 6, 7)),
    ("aclnnPermute", ([2, 0, -2],), torch.stack([NUMBERS[:, :, i] for i in range(7)])),
]
ROWS = [
    ("aclnnFlatten", CUBES, (-2,), lambda x: x.reshape(3, 20), (*FLOATS, *WHOLE)),
    ("aclnnUnfoldGrad", [drawn(3, 2, 5, 2)], ([3, 4, 5], 1, 2, 2), lambda g: window_gradient(g, 2), FLOATS),
    ("aclnnUnfoldGrad", [drawn(3, 3, 5, 2)], ([3, 4, 5], -2, 2, 1), lambda g: window_gradient(g, 1), FLOATS),
]
CASES = [
    *rows("repeat", lambda x: x.repeat(2, 1, 3), randn(3, 4), dtypes=FLOATS, layouts=LAYOUTS),
    *rows("flip", lambda x: x.flip(0, -1), randn(2, 3, 4), dtypes=FLOATS, layouts=LAYOUTS),
    *rows("roll", lambda x: x.roll((1, -2), (0, 1)), randn(3, 4), layouts=LAYOUTS),
    *rows("roll-flat", lambda x: x.roll(3), randn(3, 4), layouts=LAYOUTS),
    *rows("cat", lambda *x: torch.cat(x, 1), *map(randn, (2, 2, 2), (3, 1, 4)), dtypes=(*FLOATS, torch.int64, torch.bool), layouts=LAYOUTS),
    *rows("cat-mixed", lambda *x: torch.cat(x), randn(2, 3), randn(1, 3, dtype=torch.float16), randn(1, 3, dtype=torch.int64)),
    *rows("cat-nothing", lambda *x: torch.cat(x, -1), randn(2, 3), randn(0)),
    *rows("stack", lambda *x: torch.stack(x, -1), randn(2, 3), randn(2, 3), dtypes=FLOATS, layouts=LAYOUTS),
    *rows("split_copy", lambda x: torch.split_with_sizes_copy(x, [1, 3], 1), randn(2, 4), layouts=LAYOUTS),
    *rows("split_copy-many", split_evenly, randn(2, 66000), *[randn(2, 2000)] * 33),  # for this size the engine uses a kernel of its own
    *rows("repeat_interleave", lambda x: x.repeat_interleave(2), randn(2, 3), layouts=LAYOUTS),
    *rows("repeat_interleave-dim", lambda x: x.repeat_interleave(2, 1), randn(2, 3), dtypes=FLOATS, layouts=LAYOUTS, backward=True),
    *rows("repeat_interleave-tensor", lambda x, n: x.repeat_interleave(n, 0), randn(3, 2), values([2, 0, 3]), backward=True),
    *rows("repeat_interleave-flat", lambda x, n: x.repeat_interleave(n), randn(2, 2), values([2, 0, 3, 1]), backward=True),
    *rows("repeat_interleave-counts", torch.repeat_interleave, values([2, 0, 3])),
]
test_definitions = definitions(ROWS)


def test_assigned_slice():
    var, value = torch.zeros(5, 6, 7), torch.arange(18.0).reshape(2, 3, 3)
    expected, target = var.clone(), var.to(DEVICE)
    expected[1:5:3, :5:2, 3:6] = value
    call("aclnnStridedSliceAssignV2", target, value, [1, 0, -4], [99, 5, -1], [3, 2, 1], None)
    assert torch.equal(target.cpu(), expected)
    call("aclnnStridedSliceAssignV2", target, torch.ones(5, 2, 7), [4], [6], [1], [-2])
    expected[:, 4:6] = 1
    assert torch.equal(target.cpu(), expected)


test_torchs_functions = table(CASES)


@pytest.mark.parametrize("diagonal", [0, 2, -1])
def test_all_elements_on_a_diagonal(diagonal):
    x = torch.randint(1, 9, (2, 3))
    check("aclnnDiagFlat", (x, diagonal), torch.diagflat(x, diagonal))


@pytest.mark.parametrize(("start", "end", "step"), [(0, 7, 1), (1, 6, 2), (-3, 100, 1), (-100, -2, 3), (5, 2, 1)])
def test_slice(start, end, step):
    check("aclnnSlice", (NUMBERS, 2, start, end, step), NUMBERS[:, :, start:end:step])


@pytest.mark.parametrize(("name", "arguments", "expected"), MOVED)
def test_movement(name, arguments, expected):
    check(name, (NUMBERS, *arguments), expected)


@pytest.mark.parametrize("stride", [0, 3])
def test_one_tensor_of_one_element_is_joined(stride):
    out = zeros(9).as_strided((1, 1), (stride, stride))
    call("aclnnCat", (zeros(1, 1) + 5,), 1, out)
    assert out.tolist() == [[5]]
