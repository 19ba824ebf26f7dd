"""Results of the loops of pooling and padding, each loop named by TORCH_ACLNN_LOOP: ``python loop_cases.py DIRECTORY LOOP...``.

Each loop gets a process that is forked, because the variable is read at the first call. It writes a file with the results of all calls,
those included that the loop cannot make, and with the loops that made them.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch_aclnn  # it must be imported before torch
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.ops import torch_aclnn as ops

from support.layouts import channels_last, contiguous, offset_and_gaps
from support.samples import awkward_values

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# Of the forward: the input's shape, kernel, stride, padding, ceil_mode, count_include_pad and divisor.
AVERAGES = (
    ((40, 3, 11, 13), (3, 2), (3, 2), (0, 0), False, True, None),
    ((40, 3, 11, 13), (4, 3), (2, 2), (2, 1), True, False, None),
    ((1, 3, 11, 13), (4, 3), (4, 3), (2, 1), False, False, None),
    ((1, 1, 9, 9), (4, 4), (3, 3), (1, 1), False, True, -3),
    ((2, 5, 29, 70), (3, 3), (1, 1), (1, 1), False, True, None),
    ((2, 33, 15, 21), (5, 3), (1, 1), (2, 1), False, False, None),
    ((9, 16, 29, 70), (2, 3), (1, 1), (1, 1), False, True, None),
    ((2, 13, 29, 70), (3, 3), (2, 2), (1, 1), True, True, None),
    ((9, 3, 29, 70), (2, 2), (2, 3), (0, 0), False, True, 5),
    ((2, 257, 11, 13), (4, 3), (4, 3), (2, 1), False, True, None),
    ((3, 2, 8, 12), (3, 12), (3, 1), (0, 0), False, True, None),
    ((2, 3, 7, 9, 11), (3, 2, 3), (2, 2, 1), (1, 1, 1), False, False, None),
    ((40, 2, 4, 5, 6), (1, 2, 2), (1, 2, 2), (0, 0, 0), False, True, 3),
    ((2, 4, 6, 8, 40), (2, 3, 3), (3, 1, 2), (0, 1, 1), True, True, None),
)
ADAPTIVE = (
    ((40, 3, 31, 42), (19, 36)),
    ((2, 4, 29, 70), (14, 23)),
    ((64, 3, 11, 13), (11, 1)),
    ((3, 3, 30, 20), (1, 1)),
    ((3, 2, 30, 20), (7, 1)),
    ((600, 7, 5, 4), (2, 1)),
    ((40, 2, 5, 3, 5), (2, 2, 2)),
    ((3, 2, 13, 16, 20), (5, 7, 5)),
    ((3, 5, 13, 16, 50), (5, 16, 45)),
    ((40, 2, 7, 8, 5), (3, 4, 1)),
    ((40, 2, 7, 8, 5), (3, 5, 1)),
    ((4, 4, 6, 9, 8), (6, 4, 3)),
)
# The input's shape and the padding, and what repeats its elements.
PADDINGS = (
    ((48, 2, 9, 30), (1, 5, 2, 8), ("replication", "reflection", "circular")),
    ((3, 3, 48, 10), (3, 4, 1, 0), ("replication", "reflection", "circular")),
    ((2, 1, 60, 600), (2, 1, 0, 3), ("replication", "reflection", "circular")),
    ((3, 40, 5, 6), (7, -2, 9, 1), ("replication",)),
    ((3, 2, 30), (5, 7), ("replication", "reflection")),
    ((40, 2, 3, 4, 5), (1, 2, 2, 1, 1, 1), ("replication", "reflection", "circular")),
    ((2, 3, 6, 7, 40), (3, 2, -1, 4, 5, 0), ("replication", "reflection", "circular")),
)


def results() -> Iterator[Tensor]:
    """Everything, for each layout and dtype."""
    for layout in (contiguous, channels_last, offset_and_gaps):
        for dtype in DTYPES:
            yield from pooled(layout, dtype)
        for dtype in (*DTYPES, torch.complex64):
            yield from padded(layout, dtype)


def pooled(layout, dtype) -> Iterator[Tensor]:
    for shape, *arguments in AVERAGES:
        dims = len(shape) - 2
        forward = F.avg_pool2d if dims == 2 else F.avg_pool3d
        gradient = layout(awkward_values(*forward(torch.empty(shape), *arguments).shape, dtype=dtype))
        yield getattr(ops, f"avg_pool{dims}d_backward")(gradient, shape, *arguments)
    for shape, out in ADAPTIVE:
        gradient = layout(awkward_values(*shape[:2], *out, dtype=dtype))
        yield getattr(ops, f"adaptive_avg_pool{len(out)}d_backward")(gradient, shape)


def padded(layout, dtype) -> Iterator[Tensor]:
    for shape, padding, modes in PADDINGS:
        dims = len(shape) - 2
        sizes = [size + padding[2 * (dims - d) - 2] + padding[2 * (dims - d) - 1] for d, size in enumerate(shape[2:])]
        gradient = layout(awkward_values(*shape[:2], *sizes, dtype=dtype))
        for mode in modes:
            yield getattr(ops, f"{mode}_pad{dims}d_backward")(gradient, shape, padding)


def write(path: Path) -> None:
    """Make all calls, and write their results and loops."""
    made, loops = [], []
    for result in results():
        made.append(result.contiguous())
        loops.append(torch_aclnn._C.last_loop())
    torch.save((made, loops), path)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for loop in sys.argv[2:]:
        child = os.fork()
        if child == 0:
            os.environ["TORCH_ACLNN_LOOP"] = loop
            write(Path(sys.argv[1]) / f"{loop}.pt")
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            raise SystemExit(f"the process of the loop {loop} failed")
