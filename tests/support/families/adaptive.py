"""Average pooling of planes to a given size."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from support.cases import Call, FunctionCase, Limits, OperatorCase, PlaneCase, Row, StridesCase, backward, linear_out
from support.definitions import Axis, Definition, Shape, Term, last, terms_of_axes
from support.dtypes import Format
from support.entry_point import EntryPoint, Undocumented, by_pages, volumes_of_four_dimensions
from support.lazy import numpy as np
from support.lazy import strategies as st
from support.lazy import torch
from support.samples import Draw, draw_dtype, draw_planes, draw_size, draw_tensor, sizes_to_pool
from support.tensors import Tensor, every_tensor

if TYPE_CHECKING:
    from torch import nn


def windows(out: int, size: int) -> Axis:
    """The gradient of each window goes to its cells, divided by the window's size."""
    for o in range(out):
        cells = range(math.floor(o * size / out), math.ceil((o + 1) * size / out))
        yield cells, len(cells)


def terms(grad_plane: Shape, plane: Shape) -> Iterator[Term]:
    return terms_of_axes([windows(*axis) for axis in zip(grad_plane, plane, strict=True)], plane)


def draw_arguments(draw: Draw, dims: int) -> tuple[Any, ...]:
    planes = draw_planes(draw)
    grad = draw_tensor(draw, [*planes, *(draw_size(draw) for _ in range(dims))], draw_dtype(draw))
    return grad, [*planes, *(draw_size(draw) for _ in range(dims))]


# For each number of dimensions: the input's size, and what its planes are pooled to.
CALLS: dict[int, tuple[Any, ...]] = {
    2: (
        ((1, 1, 4, 2), (3, 2)),
        ((2, 3, 14, 14), (7, 7)),
        ((2, 3, 17, 13), (5, 4)),
        ((2, 3, 3, 4), (7, 9)),  # more outputs than inputs
        ((4, 8, 7, 7), (1, 1)),
        ((2, 3, 12, 50), (4, 1)),  # rows of a plane that are one long row
        ((2, 3, 15, 100), (7, 1)),  # windows of whole rows, two of which share some
        ((2, 20, 10, 8), (2, 1)),  # planes of fewer elements than a vector has
        ((3, 6, 5), (6, 5)),
        ((5, 1, 1), (2, 3)),
    ),
    3: (
        ((1, 1, 2, 4, 2), (1, 3, 2)),
        ((2, 3, 4, 14, 14), (2, 7, 7)),
        ((2, 3, 7, 17, 13), (3, 5, 4)),
        ((2, 3, 2, 3, 4), (5, 7, 9)),  # more outputs than inputs
        ((4, 8, 2, 7, 7), (1, 1, 1)),
        ((1, 3, 9, 8, 12), (3, 2, 5)),  # planes and rows that are copies of others
        ((1, 5, 6, 3, 4), (2, 1, 3)),
        ((1, 1, 4, 190, 200), (1, 7, 9)),  # planes too large to be kept and copied
        ((3, 4, 6, 5), (3, 6, 5)),
        ((2, 3, 5, 9, 33), (5, 4, 14)),  # planes by themselves
        ((1, 4, 1, 12, 40), (1, 5, 3)),
        ((5, 1, 1, 1), (2, 2, 3)),
    ),
}


def call_of(size: tuple[int, ...], out: tuple[int, ...]) -> Call:
    return Call(size, (*size[: -len(out)], *out))


def draw_call(draw: Draw, dims: int) -> Call:
    size, out = (tuple(draw(st.integers(1, 16 if dims == 2 else 9)) for _ in range(dims)) for _ in range(2))
    return call_of((2, 1, *size), out)


def bad_arguments(name: str, dims: int) -> dict[str, Any]:
    fours, twos = [4] * dims, [2] * dims
    on = lambda device, size: backward(name)(torch.ones(1, 1, *twos, device=device), size)
    return {
        "input_size that wraps": (lambda d: on(d, (2**60, 2**60, *fours)), "input_size: expected fewer than 2^63 elements"),
        "input_size of another gradient": (
            lambda d: on(d, (3, 1, *fours)),
            f"grad_output: expected shape {[3, 1, *twos]} by input_size, got {[1, 1, *twos]}",
        ),
        "input_size of a plane alone": (lambda d: on(d, fours), f"input_size: expected {dims + 1} to {dims + 2} dimensions, got {dims}"),
    }


def entry_point(dims: int) -> EntryPoint:
    size, pooled = (2, 3, *last(dims, 3, 5, 4)), (2, 3, *last(dims, 2, 2, 3))
    good = {"gradOutput": Tensor(pooled), "self": Tensor(size), "out": Tensor(size)}

    def large(make: Any) -> dict[str, Any]:
        planes = {"gradOutput": last(dims, 3, 37, 41), "self": last(dims, 5, 64, 65), "out": last(dims, 5, 64, 65)}
        return {name: make.floats(2, 8, *plane) for name, plane in planes.items()}

    in_nd = Undocumented(every_tensor(good, format=Format.ND), "gradOutput", "format NCHW or NCL")
    return EntryPoint(
        f"aclnnAdaptiveAvgPool{dims}dBackward",
        good,
        dtypes=by_pages(f"adaptive_avg_pool{dims}d"),
        large=large,
        float64_extension=True,
        undocumented={"format ND": in_nd} if dims == 2 else {"four dimensions as NCDHW": volumes_of_four_dimensions(good)},
    )


def row(dims: int) -> Row:
    name, definition, even = f"adaptive_avg_pool{dims}d", Definition(dims, terms), (None,) * (dims - 2)

    def a_size_and_none() -> "tuple[nn.Module, nn.Module]":
        module = getattr(torch.nn, f"AdaptiveAvgPool{dims}d")
        return module((*even, np.int64(2), None)), module((*even, 2, None))

    return Row(
        dims,
        entry_point(dims),
        FunctionCase(
            name,
            lambda f, x: getattr(f, name)(x, last(dims, 2, 3, 2)),
            sizes=sizes_to_pool(dims),
            recorded_as=(name, f"_{name}"),
            symbolic=(lambda f, x: getattr(f, name)(x, (*even, x.shape[-2] // 2, None)),),
        ),
        OperatorCase(
            name,
            lambda draw: draw_arguments(draw, dims),
            out=linear_out(name, (1, 2, *[2] * dims), (1, 2, *[4] * dims)),
            bad_arguments=bad_arguments(name, dims),
            strides=StridesCase(
                (2, 3, *last(dims, 2, 2, 3)),
                (2, 3, *last(dims, 4, 4, 6)),
                lambda g, x: backward(name)(g, x.shape),
                lambda g, x: getattr(torch.ops.aten, f"_{name}_backward")(g, x),
                follows_channels_last=dims == 2,
            ),
        ),
        Limits(
            node=f"AdaptiveAvgPool{dims}dBackward",
            within={"more cells than the input has": lambda f, x: getattr(f, name)(x, last(dims, 2, 5, 6))},
            numpy_modules={"a size and none": a_size_and_none},
        ),
        definition.of_list,
        definition.of_tensor,
        PlaneCase(
            ("float32", "float16", "bfloat16"),
            lambda: (call_of(*call) for call in CALLS[dims]),
            lambda draw: draw_call(draw, dims),
            module=(last(dims, 2, 3, None),),
        ),
    )


ROWS = (row(2), row(3))
