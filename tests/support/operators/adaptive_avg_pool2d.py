"""Adaptive average pooling."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from support.cases import FunctionCase, Limits, OperatorCase, OutCase, StridesCase
from support.definitions import Shape, Term, cells, sum_terms, sum_terms_of_tensor
from support.dtypes import Format
from support.entry_point import EntryPoint, Undocumented, by_product
from support.lazy import numpy as np
from support.lazy import torch
from support.samples import Draw, awkward_values, draw_dtype, draw_planes, draw_size, draw_tensor
from support.tensors import Tensor, every_tensor

if TYPE_CHECKING:
    import torch as t

NAME = "aclnnAdaptiveAvgPool2dBackward"


def window(o: int, size: int, out: int) -> range:
    return range(math.floor(o * size / out), math.ceil((o + 1) * size / out))


def terms(grad_shape: Shape, shape: Shape) -> Iterator[Term]:
    """Each window's gradient goes to each of its cells, divided by the window's size."""
    for i, (oh, ow) in enumerate(cells(grad_shape)):
        rows, columns = window(oh, shape[-2], grad_shape[-2]), window(ow, shape[-1], grad_shape[-1])
        yield from ((i, h * shape[-1] + w, len(rows) * len(columns)) for h in rows for w in columns)


def gradient(grad: Sequence[float], grad_shape: Shape, shape: Shape) -> list[float]:
    return sum_terms(grad, grad_shape, shape, terms(grad_shape, shape))


def tensor_gradient(grad: "t.Tensor", size: Shape) -> "t.Tensor":
    return sum_terms_of_tensor(grad, size, terms(grad.shape, size))


GOOD = {
    "gradOutput": Tensor((2, 3, 2, 3)),
    "self": Tensor((2, 3, 5, 4)),
    "out": Tensor((2, 3, 5, 4)),
}


def large(make: Any) -> dict[str, Any]:
    return {"gradOutput": make.floats(2, 8, 37, 41), "self": make.floats(2, 8, 64, 65), "out": make.floats(2, 8, 64, 65)}


ENTRY_POINT = EntryPoint(
    NAME,
    GOOD,
    dtypes=by_product({"FLOAT", "FLOAT16"}, {"FLOAT", "FLOAT16"}, {"FLOAT", "FLOAT16", "BF16"}),
    large=large,
    float64_extension=True,
    undocumented={"format ND": Undocumented(every_tensor(GOOD, format=Format.ND), "gradOutput", "format NCHW or NCL")},
)

FUNCTION = FunctionCase(
    "adaptive_avg_pool2d",
    lambda f, x: f.adaptive_avg_pool2d(x, (3, 2)),
    sizes=((2, 3, 8, 6), (4, 3, 9, 7), (5, 3, 12, 10)),
    recorded_as=("adaptive_avg_pool2d", "_adaptive_avg_pool2d"),
    symbolic=(lambda f, x: f.adaptive_avg_pool2d(x, (x.shape[-2] // 2, None)),),
)


def op(*arguments: Any) -> "t.Tensor":
    return torch.ops.torch_aclnn.adaptive_avg_pool2d_backward(*arguments)


def draw_arguments(draw: Draw) -> tuple[Any, ...]:
    planes = draw_planes(draw)
    grad = draw_tensor(draw, [*planes, draw_size(draw), draw_size(draw)], draw_dtype(draw))
    return grad, [*planes, draw_size(draw), draw_size(draw)]


AWKWARD_SIZES = (
    ((7, 7), (1, 1)),
    ((14, 14), (7, 7)),
    ((56, 23), (6, 5)),
    ((3, 4), (7, 9)),
    ((13, 33), (13, 11)),
    ((8, 100), (1, 3)),
    ((12, 50), (4, 1)),
    ((12, 40), (4, 1)),
    ((9, 97), (1, 1)),
    ((28, 31), (4, 1)),
    ((15, 100), (7, 1)),
    ((31, 50), (13, 1)),
)


def awkward_results(layout: Any, dtype: Any) -> "Iterator[t.Tensor]":
    for (h, w), (out_h, out_w) in AWKWARD_SIZES:
        yield op(layout(awkward_values(2, 19, out_h, out_w, dtype=dtype)), (2, 19, h, w))


def out(device: str) -> OutCase:
    call = lambda grad, out: torch.ops.torch_aclnn.adaptive_avg_pool2d_backward.out(grad, (2, 2, 4, 4), out=out)
    return OutCase(call, torch.ones(2, 2, 2, 2, device=device), (2, 2, 4, 4))


def on(device: str, size: tuple[int, ...]) -> "t.Tensor":
    return op(torch.ones(1, 1, 2, 2, device=device), size)


OPERATOR = OperatorCase(
    "adaptive_avg_pool2d",
    draw_arguments,
    awkward_results,
    awkward_dtypes=("float32", "float16", "bfloat16", "float64"),
    out=out,
    bad_arguments={
        "input_size that wraps": (lambda d: on(d, (2**60, 2**60, 4, 4)), "input_size: expected fewer than 2^63 elements"),
        "input_size of another gradient": (
            lambda d: on(d, (3, 1, 4, 4)),
            "grad_output: expected shape [3, 1, 2, 2] by input_size, got [1, 1, 2, 2]",
        ),
        "input_size of 2 numbers": (lambda d: on(d, (4, 4)), "input_size: expected 3 to 4 dimensions, got 2"),
    },
    strides=StridesCase(
        (2, 3, 2, 3),
        lambda g, x: op(g, x.shape),
        lambda g, x: torch.ops.aten._adaptive_avg_pool2d_backward(g, x),
        follows_channels_last=True,
    ),
)

LIMITS = Limits(
    node="AdaptiveAvgPool2dBackward",
    within={"more cells than the input has": lambda f, x: f.adaptive_avg_pool2d(x, (5, 6))},
    numpy_modules={
        "a size and none": lambda: (torch.nn.AdaptiveAvgPool2d((np.int64(2), None)), torch.nn.AdaptiveAvgPool2d((2, None))),
    },
)
