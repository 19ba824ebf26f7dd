"""Results of the kernels' loops: ``python loop_cases.py DIRECTORY THREADS LOOP...``.

Each named loop of pooling and padding gets a process that is forked, because TORCH_ACLNN_LOOP is read at the first call, and that has one
thread. It writes a file with the results of all calls, those included that the loop cannot make, and with the loops that made them. The
process itself does so without a named loop, as "auto", and adds unpooling and batch norm, whose kernels have one loop.
"""

import math
import os
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch_aclnn  # torch_aclnn must be imported before torch
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.ops import torch_aclnn as ops
from torch_aclnn._operators import OPERATORS

from support.layouts import channels_last, contiguous, offset_and_gaps
from support.samples import awkward_values

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# Arguments of the forward: the input's shape, kernel, stride, padding, ceil_mode, count_include_pad and divisor.
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
    ((2, 19, 9, 31), (1, 1), (2, 2), (0, 0), False, True, None),
    ((2, 5, 20, 45), (7, 20), (7, 1), (3, 10), False, False, None),
    ((2, 5, 29, 47), (3, 47), (3, 47), (0, 0), True, True, None),
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
    ((2, 19, 3, 4), (7, 9)),
    ((2, 19, 8, 100), (1, 3)),
    ((40, 2, 5, 3, 5), (2, 2, 2)),
    ((3, 2, 13, 16, 20), (5, 7, 5)),
    ((3, 5, 13, 16, 50), (5, 16, 45)),
    ((40, 2, 7, 8, 5), (3, 4, 1)),
    ((40, 2, 7, 8, 5), (3, 5, 1)),
    ((4, 4, 6, 9, 8), (6, 4, 3)),
)
# The input's shape and the padding, for each operator whose mode takes that padding.
PADDINGS = (
    ((48, 2, 9, 30), (1, 5, 2, 8)),
    ((3, 3, 48, 10), (3, 4, 1, 0)),
    ((2, 1, 60, 600), (2, 1, 0, 3)),
    ((3, 40, 5, 6), (7, -2, 9, 1)),
    ((2, 19, 6, 9), (-2, -3, 0, 0)),
    ((3, 2, 30), (5, 7)),
    ((40, 2, 3, 4, 5), (1, 2, 2, 1, 1, 1)),
    ((2, 3, 6, 7, 40), (3, 2, -1, 4, 5, 0)),
)
TAKES = {"replicate": lambda size, side: True, "reflect": lambda size, side: side < size, "circular": lambda size, side: side <= size}
# Channels, and the sizes of the unpooled and the pooled plane.
UNPOOLINGS = ((3, (6, 10), (3, 70)), (19, (3, 4), (2, 3)), (3, (4, 6, 10), (2, 3, 70)), (19, (2, 3, 4), (1, 2, 3)))


def results() -> Iterator[Tensor]:
    """Return the gradients of pooling and padding, for each layout and dtype."""
    for layout in (contiguous, channels_last, offset_and_gaps):
        for dtype in DTYPES:
            yield from pooled(layout, dtype)
        for dtype in (*DTYPES, torch.complex64, torch.complex128):
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
    for shape, padding in PADDINGS:
        dims = len(shape) - 2
        sides = [(shape[-1 - side // 2], padding[side]) for side in range(2 * dims)]
        sizes = [size + padding[2 * (dims - d) - 2] + padding[2 * (dims - d) - 1] for d, size in enumerate(shape[2:])]
        gradient = layout(awkward_values(*shape[:2], *sizes, dtype=dtype))
        for operator in OPERATORS:
            if operator.family == "padding" and operator.dims == dims and all(TAKES[operator.mode](*side) for side in sides):
                yield getattr(ops, operator.backward)(gradient, shape, padding)


def results_of_one_loop() -> Iterator[Tensor]:
    """Return what has no loops to be named, for each layout and dtype, and what batch norm's backward needs first, in the engine."""
    for layout in (contiguous, channels_last, offset_and_gaps):
        for dtype in (*DTYPES, torch.int8, torch.int64):
            yield from unpooled(layout, dtype)
        for dtype in DTYPES:
            yield from normalised(layout, dtype)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, grad = (awkward_values(3, 5, 37, dtype=dtype, seed=seed).nan_to_num().npu() for seed in (0, 1))
        mean = torch.linspace(-1, 1, 5).npu()
        yield from (t.cpu() for t in torch.batch_norm_backward_reduce(grad, x, mean, mean, mean, True, True, True))


def unpooled(layout, dtype) -> Iterator[Tensor]:
    for channels, plane, pooled in UNPOOLINGS:
        gradient = awkward_values(2, channels, *plane, dtype=torch.float64).nan_to_num().clamp(-100, 100).to(dtype)
        indices = torch.randint(0, math.prod(plane), (2, channels, *pooled), generator=torch.Generator().manual_seed(1))
        steps = ([1, 1, 1], [0, 0, 0]) if len(plane) == 3 else ()
        yield getattr(ops, f"max_unpool{len(plane)}d_backward")(layout(gradient), layout(indices), plane, *steps)


def normalised(layout, dtype) -> Iterator[Tensor]:
    for shape in ((3, 5, 7, 49), (4, 33), (2, 3, 2, 1500)):
        for other in (dtype, torch.float32):
            gradient, data = layout(awkward_values(*shape, dtype=other)), layout(awkward_values(*shape, dtype=dtype, seed=1))
            channel = [torch.rand(shape[1], generator=torch.Generator().manual_seed(seed)) for seed in range(5)]
            yield ops.batch_norm_elemt_backward(gradient, data, *channel, torch.tensor([7, 8], dtype=torch.int32))


def write(path: Path, calls: Iterator[Tensor]) -> None:
    """Make the calls, and write their results and loops."""
    made, loops = [], []
    for result in calls:
        made.append(result.contiguous())
        loops.append(torch_aclnn._C.last_loop())
    torch.save((made, loops), path)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    torch.set_num_threads(int(sys.argv[2]))
    for loop in sys.argv[3:]:
        child = os.fork()
        if child == 0:
            os.environ["TORCH_ACLNN_LOOP"] = loop
            write(directory / f"{loop}.pt", results())
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            raise SystemExit(f"the process of the loop {loop} failed")
    write(directory / "auto.pt", chain(results(), results_of_one_loop()))
