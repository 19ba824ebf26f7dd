"""Padding of planes with their own elements: replication, reflection, and circular padding."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from support.cases import Call, FunctionCase, Limits, OperatorCase, PlaneCase, Row, StridesCase, backward, linear_out
from support.definitions import Axis, Definition, Shape, Term, last, terms_of_axes
from support.dtypes import DType, numbers
from support.entry_point import OPERATORS, EntryPoint, Undocumented, by_pages, listed
from support.lazy import numpy as np
from support.lazy import strategies as st
from support.lazy import torch
from support.samples import Draw, draw_dtype, draw_planes, draw_size, draw_tensor
from support.tensors import Tensor, every_tensor

if TYPE_CHECKING:
    from torch import nn

# The index within a size of which the one given, maybe outside, is a copy.
SOURCES: dict[str, Callable[[int, int], int]] = {
    "replication": lambda index, size: min(max(index, 0), size - 1),
    "reflection": lambda index, size: -index if index < 0 else 2 * (size - 1) - index if index >= size else index,
    "circular": lambda index, size: index % size,
}
MODES = {"replication": "replicate", "reflection": "reflect", "circular": "circular"}  # the modes of torch.nn.functional.pad
# How far beyond one less than the size a padding may reach, as torch has it.
BEYOND = {"replication": 4, "reflection": 0, "circular": 1}


def padded(size: Shape, padding: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of the result; the paddings are those of the last dimension first, as torch has them."""
    dims = len(padding) // 2
    added = [before + after for before, after in zip(padding[::2], padding[1::2], strict=True)]
    return (*size[:-dims], *(s + a for s, a in zip(size[-dims:], reversed(added), strict=True)))


def definition_of(family: str, dims: int) -> Definition:
    """Add the gradient of each cell to the input's cell that it is a copy of."""
    source = SOURCES[family]

    def axis(out: int, size: int, before: int) -> Axis:
        return ((range(i, i + 1), 1) for i in (source(o - before, size) for o in range(out)))

    def terms(grad_plane: Shape, plane: Shape, padding: Sequence[int]) -> Iterator[Term]:
        return terms_of_axes([axis(*a) for a in zip(grad_plane, plane, padding[-2::-2], strict=True)], plane)

    return Definition(dims, terms)


def exact_call(
    gradient: Callable[..., list[Any]],
    plane: tuple[int, ...],
    padding: tuple[int, ...],
    *,
    dtype: DType = DType.FLOAT,
    lead: tuple[int, ...] = (2, 3),
) -> tuple[dict[str, Any], list[Any]]:
    """Return the arguments of an entry point and the exact result."""
    shape = (*lead, *plane)
    grad_shape = padded(shape, padding)
    grad = numbers(math.prod(grad_shape), dtype)
    arguments = {"gradOutput": Tensor(grad_shape, dtype, grad), "self": Tensor(shape, dtype), "padding": padding}
    arguments["gradInput"] = Tensor(shape, dtype)
    return arguments, gradient(grad, grad_shape, shape, padding)


def entry_point(family: str, dims: int) -> EntryPoint:
    shape, padding = (2, 3, *last(dims, 2, 4, 3)), (1, 2, 3, 0, 1, 0)[: 2 * dims]
    good = {"gradOutput": Tensor(padded(shape, padding)), "self": Tensor(shape), "padding": padding, "gradInput": Tensor(shape)}

    def large(make: Any) -> dict[str, Any]:
        shape, padding = (2, 8, *last(dims, 5, 64, 65)), (3, 2, 4, 2, 1, 1)[: 2 * dims]
        tensors = {name: make.floats(*shape) for name in ("self", "gradInput")}
        return {**good, "gradOutput": make.floats(*padded(shape, padding)), "padding": padding, **tensors}

    def with_padding(*first: int) -> dict[str, Any]:
        other = (*first, *padding[2:])
        return {"padding": other, "gradOutput": {"shape": padded(shape, other)}}

    name, undocumented = f"{family}_pad{dims}d", dict[str, Undocumented]()
    if "BF16" not in listed(name, "A2"):  # torch_npu passes BF16
        undocumented["BF16"] = Undocumented(every_tensor(good, dtype=DType.BF16), "gradOutput", "a data type of")
    if family != "circular":
        undocumented["negative padding"] = Undocumented(with_padding(1, -1), "padding", "values of at least 0")
    if family != "reflection":
        as_large = Undocumented(with_padding(1, 3), "padding", "values below self's size of 3")
        undocumented["padding as large as the dimension"] = as_large
    return EntryPoint(
        f"aclnn{family.title()}Pad{dims}dBackward",
        good,
        dtypes=by_pages(name, {"BF16"}, on_untold=family != "circular"),
        float64_extension=family == "circular",
        large=large,
        undocumented=undocumented,
    )


def draw_arguments(draw: Draw, family: str, dims: int) -> tuple[Any, ...]:
    from support.marks import STRICT

    size = [*draw_planes(draw), *(draw_size(draw) for _ in range(dims))]
    beyond = 0 if STRICT else BEYOND[family]
    largest = [min(4, d - 1 + beyond) for d in size[: -dims - 1 : -1] for _ in range(2)]
    padding = [draw(st.integers(0 if STRICT or family == "circular" else -2, value)) for value in largest]
    return draw_tensor(draw, [max(s, 0) for s in padded(size, padding)], draw_dtype(draw)), size, padding


def calls(family: str, dims: int) -> Iterator[Call]:
    widest = 2 + min(2, BEYOND[family])  # for a dimension of size 3
    for size, padding in (
        ((1, *last(dims, 1, 1, 5)), (1, 1, 0, 0, 0, 0)),
        ((2, 3, *last(dims, 2, 7, 6)), (1, 2, 3, 0, 1, 1)),
        ((1, 2, *[3] * dims), (widest,) * 6),
        ((2, 3, *last(dims, 4, 9, 8)), (-1, 2, -3, 1, 2, -1)),
        ((2, 1, *last(dims, 3, 9, 8)), (-2, -3, -4, -1, -1, 0)),
        ((3, *[1] * dims), {"replication": (2, 2, 1, 1, 0, 1), "reflection": (0,) * 6, "circular": (1, 0, 0, 1, 1, 1)}[family]),
        ((2, 3, *[4] * dims), (0,) * 6),
    ):
        attributes = padding[: 2 * dims]
        if family != "circular" or min(attributes) >= 0:
            yield Call(size, padded(size, attributes), (attributes,))


def draw_call(draw: Draw, family: str, dims: int) -> Call:
    plane, padding = [draw(st.integers(1, 8 if dims < 3 else 5)) for _ in range(dims)], []
    for d in reversed(plane):
        largest = min(5, d - 1 + BEYOND[family])
        before = draw(st.integers(0 if family == "circular" else 1 - d, largest))
        padding += [before, draw(st.integers(0 if family == "circular" else 1 - d - before, largest))]
    size = (1, 2, *plane)
    return Call(size, padded(size, padding), (padding,))


HUGE = 2**62


def bad_arguments(name: str, family: str, dims: int) -> dict[str, Any]:
    ones = [1] * (2 * dims - 2)
    size, padded_size = [1, 1, *[2] * dims], [1, 1, *[4] * dims]
    on = lambda device, padding: backward(name)(torch.ones(padded_size, device=device), size, padding)
    narrower = f"expected shape {[*padded_size[:-1], 3]} by input_size and padding, got {padded_size}"
    rows = {
        "an odd number of paddings": (lambda d: on(d, [1, *ones]), f"padding: expected [{2 * dims}] values, got {2 * dims - 1}"),
        "padding of 2^63 - 1": (lambda d: on(d, [2**63 - 1, 1, *ones]), "padding: expected values from -2147483648"),
        "paddings whose sum wraps": (lambda d: on(d, [HUGE, HUGE + 2, *ones]), "padding: expected values from"),
        "padding of another gradient": (lambda d: on(d, [1, 0, *ones]), f"grad_output: {narrower}"),
        "input_size of a plane alone": (
            lambda d: backward(name)(torch.ones(padded_size, device=d), [2] * dims, [1, 1, *ones]),
            f"input_size: expected {dims + 1} to {dims + 2} dimensions, got {dims}",
        ),
        "padded size below 1": (lambda d: on(d, [-1, -1, *ones]), "padding: expected a padded size of at least 1"),
    }
    if family == "circular":
        words = "padding: expected values of at most the size that they extend"
        rows["padding larger than the input"] = (lambda d: on(d, [3, -1, *ones]), words)
    if family == "reflection":
        words = "padding: expected values below the size that they extend"
        rows["first padding as large as the input"] = (lambda d: on(d, [2, 0, *ones]), words)
        rows["last padding as large as the input"] = (lambda d: on(d, [*ones, 0, 2]), words)
    return rows


def limits(name: str, family: str, dims: int) -> Limits:
    pad, camel = lambda f, x, padding: getattr(f, name)(x, padding), f"{family.title()}Pad{dims}"
    nothing = (0,) * (2 * dims - 2)
    beyond = {"cropping by as much as wanted": lambda f, x: pad(f, x, (1, -1, *nothing))}
    modules: Callable[[], tuple[nn.Module, ...]] = tuple
    if family != "reflection":
        for side in range(2 * dims):
            beyond[f"side {side} as wide as the input"] = lambda f, x, side=side: pad(f, x, tuple(4 * (i == side) for i in range(2 * dims)))
        modules = lambda: (getattr(torch.nn, f"{camel}d")(4),)
    return Limits(
        node=f"{camel}dBackward",
        within={"padding one less than the input": lambda f, x: pad(f, x, 3)},
        torch_node="CopySlices" if family == "circular" else f"{camel}DBackward0",  # a circular padding is made of copies
        beyond=beyond,
        modules=modules,
        numpy_modules={"one integer": lambda: (getattr(torch.nn, f"{camel}d")(np.int64(2)), getattr(torch.nn, f"{camel}d")(2))},
    )


def row(family: str, dims: int) -> Row:
    name, mode, definition = f"{family}_pad{dims}d", MODES[family], definition_of(family, dims)
    padding, ones = (2, 1, 0, 3, 1, 1)[: 2 * dims], (1,) * (2 * dims)
    planes = ((2, (3, 4, 6)), (4, (5, 9, 7)), (5, (4, 12, 10)))
    return Row(
        dims,
        entry_point(family, dims),
        FunctionCase(
            name,
            lambda f, x: getattr(f, name)(x, padding),
            sizes=tuple((batch, 3, *last(dims, *plane)) for batch, plane in planes),
            torch_call=lambda f, x: f.pad(x, padding, mode=mode),
            recorded_as=(name, "pad"),
            symbolic=(lambda f, x: getattr(f, name)(x, (x.shape[0], x.shape[-1] - 1, 1, 0, 1, 0)[: 2 * dims]),),
        ),
        OperatorCase(
            name,
            lambda draw: draw_arguments(draw, family, dims),
            out=linear_out(name, (1, 2, *[3] * dims), (1, 2, *[2] * dims), (0, 1) * dims),
            bad_arguments=bad_arguments(name, family, dims),
            strides=StridesCase(
                (2, 3, *last(dims, 5, 6, 8)),
                (2, 3, *last(dims, 3, 4, 6)),
                lambda g, x: backward(name)(g, x.shape, ones),
                lambda g, x: getattr(torch.ops.aten, f"{name}_backward")(g, x, ones),
            )
            if family != "circular"  # ATen has no operator
            else None,
        ),
        limits(name, family, dims),
        definition.of_list,
        definition.of_tensor,
        PlaneCase(
            ("float32", "float16", "bfloat16", *(() if family == "circular" else ("float64", "complex64", "complex128"))),
            lambda: calls(family, dims),
            lambda draw: draw_call(draw, family, dims),
            module=((1, 2, 3, 0, 1, 1)[: 2 * dims],),
        ),
    )


MEMBERS = tuple((operator.name.partition("_")[0], operator.dims) for operator in OPERATORS if operator.family == "padding")
ROWS = tuple(row(*member) for member in MEMBERS)
