"""padding.cpp against definitions in float64."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from checks import FLOATS, definitions, drawn
from torch_aclnn._operators import OPERATORS

from cases import LAYOUTS, randn, rows, table

VOLUME = [drawn(1, 2, 3, 4, 5)]
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


# The operators whose gradients have an entry point.
GRADIENTS = {(operator.mode, operator.dims): operator for operator in OPERATORS if operator.family == "padding" and operator.aten_backward}
NUMBERS = (torch.int32, torch.uint8, torch.complex64)
CASES = [
    *(row for mode, n in GRADIENTS for row in pad(f"{mode}{n}d", AMOUNTS[n], *SIZES[n], mode=mode)),
    *rows("replicate2d-numbers", lambda x: F.pad(x, (1, 2, 0, 1), mode="replicate"), randn(1, 2, 3, 3), dtypes=NUMBERS),
    *pad("replicate2d-crop", (-1, 2, -1, -1), 2, 3, 5, 4, mode="replicate", dtypes=(torch.float32,)),
    *pad("replicate2d-large", (6, 7, 5, 9), 1, 2, 3, 3, mode="replicate"),
    *pad("replicate1d-beyond-65536", (70000, 3), 2, 3, 4, mode="replicate", dtypes=(torch.float32,), layouts=("dense",)),
    *pad("constant", (1, 2, -1, 3), 3, 4, 5, mode="constant"),
]
X = [drawn(3, 4, 6)]
test_definitions = definitions(
    [
        ("aclnnCircularPad3d", VOLUME, ([1, 1, 2, 1, 0, 2],), lambda x: F.pad(x, [1, 1, 2, 1, 0, 2], mode="circular"), FLOATS[:1]),
        ("aclnnCircularPad2d", X, ([2, 1, 0, 3],), lambda x: x[:, [*range(4), *range(3)]][:, :, [4, 5, *range(6), 0]], FLOATS),
        ("aclnnCircularPad2d", X, ([0, -1, 1, 0],), lambda x: x[:, [3, *range(4)], :-1], (torch.int32,)),
        ("aclnnCircularPad2d", X, ([2, -2, 0, 0],), lambda x: x[..., [2, 3, 0, 1, 2, 3]], FLOATS[:1]),
    ]
)
test_torchs_functions = table(CASES)
