"""padding.cpp: every mode and rank, negative amounts, gradients."""

import re
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch_aclnn._operators import OPERATORS

from cases import DEVICE, FLOATS, LAYOUTS, randn, rows, table
from direct import call, refusal

AMOUNTS = {1: (2, 1), 2: (1, 2, 2, 0), 3: (1, 0, 2, 1, 1, 1)}
SIZES = {1: (2, 3, 5), 2: (2, 3, 5, 4), 3: (1, 2, 4, 5, 3)}


def pad(name, amounts, *sizes, mode, **options):
    options = {"dtypes": FLOATS, "layouts": LAYOUTS, "close": True, "upcast": True, "backward": True} | options
    made = rows(name, lambda x: F.pad(x, amounts, mode=mode), randn(*sizes), **options)
    if (mode, len(amounts) // 2) not in GRADIENTS:
        return made
    padded = [size for size in reversed(sizes[-len(amounts) // 2 :]) for _ in range(2)]
    inside = all(0 <= amount < size for amount, size in zip(amounts, padded, strict=True))
    listed = {name for row in GRADIENTS[mode, len(amounts) // 2].listed for name in row.dtypes}
    return [replace(row, beyond=not inside or str(row.dtype).removeprefix("torch.") not in listed) for row in made]


# Those whose gradients have an entry point.
GRADIENTS = {(operator.mode, operator.dims): operator for operator in OPERATORS if operator.family == "padding" and operator.aten_backward}
CASES = [
    *(row for mode, n in GRADIENTS for row in pad(f"{mode}{n}d", AMOUNTS[n], *SIZES[n], mode=mode)),
    *(row for mode, n in GRADIENTS if mode == "replicate" for row in pad(f"replicate{n}d-unbatched", AMOUNTS[n], *SIZES[n][1:], mode=mode)),
    *rows(
        "replicate2d-numbers",
        lambda x: F.pad(x, (1, 2, 0, 1), mode="replicate"),
        randn(1, 2, 3, 3),
        dtypes=(torch.int32, torch.uint8, torch.complex64),
    ),
    *pad("replicate2d-crop", (-1, 2, -1, -1), 2, 3, 5, 4, mode="replicate", dtypes=(torch.float32,)),
    *pad("replicate2d-large", (6, 7, 5, 9), 1, 2, 3, 3, mode="replicate"),
    *pad("replicate1d-beyond-65536", (70000, 3), 2, 3, 4, mode="replicate", dtypes=(torch.float32,), layouts=("dense",)),
    *pad("constant", (1, 2, -1, 3), 3, 4, 5, mode="constant"),
    *rows("constant-value", lambda x: F.pad(x, (1, 2), value=-2.5), randn(3, 4), dtypes=FLOATS, layouts=LAYOUTS),
    *rows("constant-integer", lambda x: F.pad(x, (1, 2, 0, 1), value=7), randn(3, 4), dtypes=(torch.int32, torch.int64)),
    *rows("constant-empty", lambda x: F.pad(x, (1, 2)), randn(2, 0)),
    *rows("circular", lambda x: F.pad(x, (1, 2, 2, 1), mode="circular"), randn(2, 3, 5, 4), dtypes=FLOATS, layouts=LAYOUTS),
]


@table(CASES)
def test_padding(case):
    case.check()


@pytest.mark.parametrize("padding", [(1, -3), (-3, 1), (2, -2)])
def test_a_circle_that_a_negative_padding_leaves_too_short_is_refused(padding):
    x, out = torch.zeros(2, 4, 3).to(DEVICE), torch.zeros(2, 6, 3 + sum(padding)).to(DEVICE)
    code, message = refusal("aclnnCircularPad2d", x, [*padding, 1, 1], out)
    assert code == 161002 and re.search(r"padding: expected at most the [01] elements that the other padding leaves, got [12]", message)


def test_a_circle_that_a_negative_padding_leaves_long_enough():
    x, out = torch.arange(10.0).view(1, 2, 5), torch.zeros(1, 2, 5).to(DEVICE)
    call("aclnnCircularPad2d", x.to(DEVICE), [2, -2, 0, 0], out)
    assert out.tolist() == [[[1, 2, 0, 1, 2], [6, 7, 5, 6, 7]]]
