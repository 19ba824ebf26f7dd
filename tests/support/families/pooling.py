"""Average pooling of planes."""

from collections.abc import Iterator, Sequence
from ctypes import c_int8
from typing import TYPE_CHECKING, Any

from support.cases import Call, FunctionCase, Limits, OperatorCase, PlaneCase, Row, StridesCase, backward, linear_out
from support.definitions import Axis, Definition, Shape, Term, last, terms_of_axes
from support.entry_point import EntryPoint, Undocumented, by_pages
from support.lazy import numpy as np
from support.lazy import strategies as st
from support.lazy import torch
from support.samples import Draw, draw_dtype, draw_planes, draw_size, draw_tensor, sizes_to_pool
from support.status import NULL
from support.tensors import Tensor

if TYPE_CHECKING:
    from torch import nn


def windows(out: int, size: int, kernel: int, stride: int, padding: int, include_pad: bool) -> Axis:
    """The gradient of each window goes to its cells, divided by the window's size, of which padding may be a part."""
    for o in range(out):
        start = o * stride - padding
        stop = min(start + kernel, size + padding)
        cells = range(max(start, 0), min(stop, size))
        yield cells, stop - start if include_pad else len(cells)


def terms(
    grad_plane: Shape, plane: Shape, kernel: Shape, stride: Shape, padding: Shape, ceil_mode: bool, include_pad: bool, divisor: int | None
) -> Iterator[Term]:
    """The number of windows, which ceil_mode decides, is that of the gradient's cells."""
    axes = [windows(*axis, include_pad) for axis in zip(grad_plane, plane, kernel, stride, padding, strict=True)]
    return terms_of_axes(axes, plane, divisor)


def draw_arguments(draw: Draw, dims: int) -> tuple[Any, ...]:
    kernel, stride, pad = ([draw(st.integers(*limits)) for _ in range(dims)] for limits in ((1, 4), (1, 3), (0, 2)))
    planes, size = draw_planes(draw), [draw_size(draw) for _ in range(dims)]
    ceil = draw(st.booleans())
    out = [(s + 2 * p - k + (t - 1 if ceil else 0)) // t + 1 for s, k, t, p in zip(size, kernel, stride, pad, strict=True)]
    if ceil:
        out = [o - ((o - 1) * t >= s + p) for o, s, t, p in zip(out, size, stride, pad, strict=True)]
    grad = draw_tensor(draw, [*planes, *(max(o, 0) for o in out)], draw_dtype(draw))
    return grad, [*planes, *size], kernel, stride, pad, ceil, draw(st.booleans()), draw(st.sampled_from([None, None, 3, -2, 0]))


# For each number of dimensions: size, and the attributes of the operator.
CALLS: dict[int, tuple[Any, ...]] = {
    2: (
        ((1, 16, 4, 4), (4, 4), (1, 1), (0, 0), False, True, None),
        ((2, 3, 17, 13), (3, 3), (2, 2), (1, 1), False, True, None),
        ((2, 3, 17, 13), (3, 3), (2, 2), (1, 1), True, False, None),
        ((2, 3, 17, 13), (3, 2), (2, 3), (1, 0), True, True, None),
        ((2, 3, 9, 8), (3, 3), (1, 1), (1, 1), False, False, None),
        ((2, 3, 9, 8), (3, 3), (1, 1), (1, 1), False, True, 7),
        ((2, 3, 9, 8), (2, 2), (2, 2), (0, 0), False, True, -3),
        ((1, 5, 8, 8), (2, 2), (3, 3), (0, 0), False, True, None),  # cells that no window holds
        ((3, 14, 14), (7, 7), (7, 7), (0, 0), False, True, None),
        ((2, 3, 13, 60), (3, 60), (4, 60), (0, 0), False, True, None),  # rows of a plane that are one long row, with gaps
        ((2, 3, 13, 60), (3, 60), (2, 60), (1, 0), False, False, None),  # windows of whole rows, of two sizes, two of which share some
        ((2, 20, 10, 8), (3, 3), (3, 3), (0, 0), False, True, None),  # planes of fewer elements than a vector has
        ((5, 1, 1), (1, 1), (1, 1), (0, 0), False, True, None),
    ),
    3: (
        ((1, 3, 4, 4, 4), (4, 4, 4), (1, 1, 1), (0, 0, 0), False, True, None),
        ((2, 3, 5, 9, 7), (3, 3, 3), (2, 2, 2), (1, 1, 1), True, False, None),
        ((2, 3, 6, 8, 7), (3, 2, 3), (2, 3, 1), (1, 0, 1), True, True, None),
        ((2, 2, 4, 6, 5), (3, 3, 3), (1, 1, 1), (1, 1, 1), False, True, 200),
        ((1, 5, 7, 8, 8), (2, 2, 2), (3, 3, 3), (0, 0, 0), False, True, None),  # cells that no window holds
        ((3, 4, 14, 14), (2, 7, 7), (2, 7, 7), (0, 0, 0), False, True, None),
        ((2, 3, 5, 4, 40), (2, 2, 40), (3, 2, 40), (0, 0, 0), False, True, None),  # windows of whole rows, with gaps
        ((2, 20, 3, 4, 5), (2, 2, 2), (2, 2, 2), (0, 0, 0), False, True, -3),  # planes of few elements
        ((5, 1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0), False, True, None),
    ),
}


def call_of(name: str, size: tuple[int, ...], *attributes: Any) -> Call:
    return Call(size, getattr(torch.nn.functional, name)(torch.zeros(size), *attributes).shape, attributes)


def draw_call(draw: Draw, name: str, dims: int) -> Call:
    largest = 15 if dims == 2 else 7
    kernel = [draw(st.integers(1, 6)) for _ in range(dims)]
    stride, padding = [draw(st.integers(1, 7)) for _ in range(dims)], [draw(st.integers(0, k // 2)) for k in kernel]
    # The function of volumes does not take a window that reaches beyond the input on both sides.
    smallest = kernel if dims == 3 else [max(1, k - 2 * p) for k, p in zip(kernel, padding, strict=True)]
    plane = [draw(st.integers(size, largest)) for size in smallest]
    further = draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from([None, None, 3, -255]))
    return call_of(name, (draw(st.integers(1, 2)), draw(st.integers(1, 3)), *plane), kernel, stride, padding, *further)


HUGE = 2**62


def bad_arguments(name: str, dims: int) -> dict[str, Any]:
    ones, twos, zeros = ([value] * (dims - 1) for value in (1, 2, 0))

    def on(
        device: str, kernel: Sequence[int] = (2, *twos), stride: Sequence[int] = (), padding: Sequence[int] = (0, *zeros), planes: int = 1
    ) -> Any:
        return backward(name)(torch.ones(1, 1, 2, *twos, device=device), (planes, planes, 4, *[4] * (dims - 1)), kernel, stride, padding)

    lengths = f"expected [1, {dims}] values"
    shape = f"expected shape {[1, 1, 3, *twos]} by input_size, kernel_size, stride, padding and ceil_mode, got {[1, 1, 2, *twos]}"
    return {
        "empty kernel_size": (lambda d: on(d, kernel=[]), f"kernel_size: {lengths}, got 0"),
        "stride of another gradient": (lambda d: on(d, stride=[1, *twos]), f"grad_output: {shape}"),
        "empty kernel_size with stride": (lambda d: on(d, kernel=[], stride=[2, *twos]), f"kernel_size: {lengths}, got 0"),
        "too many kernel sizes": (lambda d: on(d, kernel=[2, 2, *twos]), f"kernel_size: {lengths}, got {dims + 1}"),
        "too many strides": (lambda d: on(d, stride=[2, 2, *twos]), f"stride: expected [0, 1, {dims}] values, got {dims + 1}"),
        "empty padding": (lambda d: on(d, padding=[]), f"padding: {lengths}, got 0"),
        "too many paddings": (lambda d: on(d, padding=[0, 0, *zeros]), f"padding: {lengths}, got {dims + 1}"),
        "kernel_size of 0": (lambda d: on(d, kernel=[0, *twos]), f"kernel_size: expected values from 1 to 2147483647, got {[0, *twos]}"),
        "kernel_size beyond any size": (lambda d: on(d, kernel=[HUGE] * dims), "kernel_size: expected values from 1"),
        "stride of 0": (lambda d: on(d, stride=[0, *ones]), "stride: expected values from 1"),
        "negative padding": (lambda d: on(d, padding=[-1, *zeros]), "padding: expected values from 0"),
        "padding beyond half a window": (lambda d: on(d, padding=[2, *zeros]), "padding: expected values of at most half of kernel_size"),
        "negative input_size": (lambda d: on(d, planes=-1), "input_size: expected sizes from 0"),
        "input_size of other planes": (lambda d: on(d, planes=2), f"grad_output: expected shape {[2, 2, 2, *twos]}"),
        "input_size of a plane alone": (
            lambda d: backward(name)(torch.ones(1, 1, 2, *twos, device=d), (4,) * dims, (2, *twos)),
            f"input_size: expected {dims + 1} to {dims + 2} dimensions, got {dims}",
        ),
        "input_size below a window": (  # torch's forward refuses it too
            lambda d: backward(name)(torch.ones(1, 1, 2, *twos, device=d), (1,) * (dims + 2), (5,) * dims, (3,) * dims, (0,) * dims, True),
            "expected a size that holds a window",
        ),
    }


def numpy_modules(dims: int) -> dict[str, Any]:
    def integers() -> "tuple[nn.Module, nn.Module]":
        module, two = getattr(torch.nn, f"AvgPool{dims}d"), np.int64(2)
        return module(two, stride=two, padding=np.int32(1), divisor_override=np.uint8(3)), module(2, 2, 1, divisor_override=3)

    def lists() -> "tuple[nn.Module, nn.Module]":
        module, others, steps = getattr(torch.nn, f"AvgPool{dims}d"), [3] * (dims - 1), [1] * (dims - 1)
        return module([np.int64(2), *others], stride=(np.int64(2), *steps)), module((2, *others), (2, *steps))

    return {"integers": integers, "lists": lists}


# No page tells of the divisor's limits for volumes.
ANY_DIVISOR = {"a divisor of 256": Undocumented({"divisorOverride": 256}, "divisorOverride", "a value in [-255, 255]")}


def entry_point(dims: int) -> EntryPoint:
    size, pooled = (2, 3, *[4] * dims), (2, 3, *[2] * dims)
    good: dict[str, Any] = {
        "gradOutput": Tensor(pooled),
        "self": Tensor(size),
        "kernelSize": (2,) * dims,
        "stride": (2,) * dims,
        "padding": (0,) * dims,
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
    }
    good |= {"cubeMathType": 1, "gradInput": Tensor(size)} if dims == 2 else {"output": Tensor(size)}

    def large(make: Any) -> dict[str, Any]:
        tensors = {name: make.floats(2, 8, *last(dims, 5, 64, 65)) for name, value in good.items() if isinstance(value, Tensor)}
        return {**good, "kernelSize": (3,), "stride": (1,), "padding": (1,), "countIncludePad": False, **tensors}

    return EntryPoint(
        f"aclnnAvgPool{dims}dBackward",
        good,
        dtypes=by_pages(f"avg_pool{dims}d"),
        large=large,
        scalar_types={"cubeMathType": c_int8},
        float64_extension=True,
        undocumented={"no stride": Undocumented({"stride": None}, "stride", "a value", NULL)} | ({} if dims == 2 else ANY_DIVISOR),
    )


def row(dims: int) -> Row:
    name, definition = f"avg_pool{dims}d", Definition(dims, terms)
    pool = lambda f, x, *arguments, **options: getattr(f, name)(x, *arguments, **options)
    aten = lambda: getattr(torch.ops.aten, f"{name}_backward")
    window, zeros = (2,) * dims, (0,) * dims
    within = {
        "a divisor of -255": lambda f, x: pool(f, x, 2, divisor_override=-255),
        "65535 channels": lambda f, x: pool(f, x.expand(1, 65535, *x.shape[2:]), 2),
    }
    beyond = {  # for images
        "a divisor above 255": lambda f, x: pool(f, x, 2, divisor_override=256),
        "a divisor below -255": lambda f, x: pool(f, x, 2, divisor_override=-(2**33)),
        "more than 65535 channels": lambda f, x: pool(f, x.expand(1, 65536, *x.shape[2:]), 2),
    }
    return Row(
        dims,
        entry_point(dims),
        FunctionCase(
            name,
            lambda f, x: getattr(f, name)(x, 3, 2, 1, count_include_pad=False),
            sizes=sizes_to_pool(dims),
            recorded_as=(name,),
            half_on_cpu=dims == 2,
        ),
        OperatorCase(
            name,
            lambda draw: draw_arguments(draw, dims),
            out=linear_out(name, (1, 2, *[2] * dims), (1, 2, *[4] * dims), window),
            bad_arguments=bad_arguments(name, dims),
            strides=StridesCase(
                (2, 3, *last(dims, 2, 2, 3)),
                (2, 3, *last(dims, 4, 4, 6)),
                lambda g, x: backward(name)(g, x.shape, window),
                lambda g, x: aten()(g, x, window, window, zeros, False, True, None),
                follows_channels_last=dims == 2,
            ),
        ),
        Limits(
            node=f"AvgPool{dims}dBackward",
            within={**within, **({} if dims == 2 else beyond)},
            torch_node=f"AvgPool{dims}DBackward0",
            beyond=beyond if dims == 2 else {},
            modules=lambda: (torch.nn.AvgPool2d(2, divisor_override=256),) if dims == 2 else (),
            numpy_modules=numpy_modules(dims),
        ),
        definition.of_list,
        definition.of_tensor,
        PlaneCase(
            ("float32", "float16", "bfloat16"),
            lambda: (call_of(name, *call) for call in CALLS[dims]),
            lambda draw: draw_call(draw, name, dims),
            module=(3, 2, 1, True, False, 4),
        ),
    )


ROWS = (row(2), row(3))
