"""Adaptive average pooling of volumes."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from support.cases import FunctionCase, Limits, OperatorCase, OutCase, StridesCase
from support.definitions import Shape, Term, sum_terms, sum_terms_of_tensor
from support.entry_point import EntryPoint, by_product
from support.lazy import numpy as np
from support.lazy import torch
from support.samples import Draw, awkward_values, draw_dtype, draw_planes, draw_size, draw_tensor
from support.tensors import Tensor

if TYPE_CHECKING:
    import torch as t

NAME = "aclnnAdaptiveAvgPool3dBackward"


def window(o: int, size: int, out: int) -> range:
    return range(math.floor(o * size / out), math.ceil((o + 1) * size / out))


def terms(grad_shape: Shape, shape: Shape) -> Iterator[Term]:
    """Each window's gradient goes to each of its cells, divided by the window's size."""
    _, height, width = shape[-3:]
    axes = [[window(o, size, out) for o in range(out)] for size, out in zip(shape[-3:], grad_shape[-3:], strict=True)]
    for i, (planes, rows, columns) in enumerate(itertools.product(*axes)):
        divisor = len(planes) * len(rows) * len(columns)
        yield from ((i, (d * height + h) * width + w, divisor) for d in planes for h in rows for w in columns)


def as_rows(shape: Shape) -> Shape:
    """Write each volume as a plane of one row, in which the terms count as they do in the volume."""
    return *shape[:-3], 1, math.prod(shape[-3:])


def gradient(grad: Sequence[float], grad_shape: Shape, shape: Shape) -> list[float]:
    return sum_terms(grad, as_rows(grad_shape), as_rows(shape), terms(grad_shape, shape))


def tensor_gradient(grad: "t.Tensor", size: Shape) -> "t.Tensor":
    return sum_terms_of_tensor(grad.reshape(as_rows(grad.shape)), as_rows(size), terms(grad.shape, size)).view(tuple(size))


GOOD = {
    "gradOutput": Tensor((2, 3, 2, 2, 3)),
    "self": Tensor((2, 3, 3, 5, 4)),
    "out": Tensor((2, 3, 3, 5, 4)),
}


def large(make: Any) -> dict[str, Any]:
    return {"gradOutput": make.floats(2, 8, 3, 19, 21), "self": make.floats(2, 8, 5, 32, 33), "out": make.floats(2, 8, 5, 32, 33)}


ENTRY_POINT = EntryPoint(
    NAME,
    GOOD,
    dtypes=by_product(set(), set(), {"FLOAT", "FLOAT16", "BF16"}),
    large=large,
    float64_extension=True,
)

FUNCTION = FunctionCase(
    "adaptive_avg_pool3d",
    lambda f, x: f.adaptive_avg_pool3d(x, (2, 3, 2)),
    sizes=((2, 3, 4, 8, 6), (4, 3, 5, 9, 7), (5, 3, 4, 12, 10)),
    recorded_as=("adaptive_avg_pool3d", "_adaptive_avg_pool3d"),
    symbolic=(lambda f, x: f.adaptive_avg_pool3d(x, (None, x.shape[-2] // 2, None)),),
)


def op(*arguments: Any) -> "t.Tensor":
    return torch.ops.torch_aclnn.adaptive_avg_pool3d_backward(*arguments)


def draw_arguments(draw: Draw) -> tuple[Any, ...]:
    planes = draw_planes(draw)
    grad = draw_tensor(draw, [*planes, *(draw_size(draw) for _ in range(3))], draw_dtype(draw))
    return grad, [*planes, *(draw_size(draw) for _ in range(3))]


AWKWARD_SIZES = (
    ((2, 7, 7), (1, 1, 1)),
    ((4, 14, 14), (2, 7, 7)),
    ((7, 28, 23), (4, 6, 5)),
    ((2, 3, 4), (5, 7, 9)),
    ((3, 13, 33), (3, 13, 11)),
    ((1, 8, 100), (2, 1, 3)),
    ((6, 13, 11), (2, 1, 1)),
)


def awkward_results(layout: Any, dtype: Any) -> "Iterator[t.Tensor]":
    for size, out_size in AWKWARD_SIZES:
        for channels in (2, 5, 19):  # from 32 volumes on small ones have a loop of their own
            yield op(layout(awkward_values(2, channels, *out_size, dtype=dtype)), (2, channels, *size))


def out(device: str) -> OutCase:
    call = lambda grad, out: torch.ops.torch_aclnn.adaptive_avg_pool3d_backward.out(grad, (2, 2, 3, 4, 4), out=out)
    return OutCase(call, torch.ones(2, 2, 2, 2, 2, device=device), (2, 2, 3, 4, 4))


def on(device: str, size: tuple[int, ...]) -> "t.Tensor":
    return op(torch.ones(1, 1, 2, 2, 2, device=device), size)


OPERATOR = OperatorCase(
    "adaptive_avg_pool3d",
    draw_arguments,
    awkward_results,
    awkward_dtypes=("float32", "float16", "bfloat16", "float64"),
    out=out,
    bad_arguments={
        "input_size that wraps": (lambda d: on(d, (2**60, 2**60, 4, 4, 4)), "input_size: expected fewer than 2^63 elements"),
        "input_size of 3 numbers": (lambda d: on(d, (4, 4, 4)), "input_size: expected 4 to 5 dimensions, got 3"),
    },
    strides=StridesCase(
        (2, 3, 2, 2, 3),
        lambda g, x: op(g, x.shape),
        lambda g, x: torch.ops.aten._adaptive_avg_pool3d_backward(g, x),
        size=(2, 3, 4, 6, 5),
    ),
)

LIMITS = Limits(
    node="AdaptiveAvgPool3dBackward",
    within={"more cells than the input has": lambda f, x: f.adaptive_avg_pool3d(x, (2, 5, 6))},
    numpy_modules={
        "a size and none": lambda: (torch.nn.AdaptiveAvgPool3d((1, np.int64(2), None)), torch.nn.AdaptiveAvgPool3d((1, 2, None))),
    },
)
