"""Reflection padding."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from support.cases import FunctionCase, Limits, OperatorCase, OutCase, StridesCase
from support.definitions import Shape, Term, cells, sum_terms, sum_terms_of_tensor
from support.dtypes import DType
from support.entry_point import EntryPoint, Undocumented, by_product
from support.lazy import numpy as np
from support.lazy import strategies as st
from support.lazy import torch
from support.padding import GOOD, NEGATIVE
from support.samples import Draw, awkward_values, draw_dtype, draw_planes, draw_size, draw_tensor
from support.tensors import every_tensor

if TYPE_CHECKING:
    import torch as t

NAME = "aclnnReflectionPad2dBackward"


def mirrored(index: int, size: int) -> int:
    """Return the index within the size that one outside is the reflection of."""
    return -index if index < 0 else 2 * (size - 1) - index if index >= size else index


def terms(grad_shape: Shape, shape: Shape, padding: Sequence[int]) -> Iterator[Term]:
    """The gradient of each cell goes to the cell of the input that it mirrors."""
    left, _, top, _ = padding
    for source, (i, j) in enumerate(cells(grad_shape)):
        yield source, mirrored(i - top, shape[-2]) * shape[-1] + mirrored(j - left, shape[-1]), 1


def gradient(grad: Sequence[Any], grad_shape: Shape, shape: Shape, padding: Sequence[int]) -> list[Any]:
    return sum_terms(grad, grad_shape, shape, terms(grad_shape, shape, padding))


def tensor_gradient(grad: "t.Tensor", size: Shape, padding: Sequence[int]) -> "t.Tensor":
    return sum_terms_of_tensor(grad, size, terms(grad.shape, size, padding))


DTYPES = {"FLOAT16", "FLOAT", "DOUBLE", "COMPLEX64", "COMPLEX128"}


def large(make: Any) -> dict[str, Any]:
    tensors = {name: make.floats(2, 8, 64, 65) for name in ("self", "gradInput")}
    return {"gradOutput": make.floats(2, 8, 70, 70), "self": tensors["self"], "padding": (3, 2, 4, 2), "gradInput": tensors["gradInput"]}


ENTRY_POINT = EntryPoint(
    NAME,
    GOOD,
    dtypes=by_product(DTYPES, DTYPES, DTYPES | {"BF16"}),
    large=large,
    undocumented={
        "negative padding": NEGATIVE,
        "BF16": Undocumented(every_tensor(GOOD, dtype=DType.BF16), "gradOutput", "a data type of"),
    },
    strict_messages={r"padding: expected values of at least 0, as TORCH_ACLNN_HOST_STRICT asks": "8.0.RC2: each at least 0"},
)

FUNCTION = FunctionCase(
    "reflection_pad2d",
    lambda f, x: f.reflection_pad2d(x, (2, 1, 0, 3)),
    sizes=((2, 3, 4, 6), (4, 3, 9, 7), (5, 3, 12, 10)),
    torch_call=lambda f, x: f.pad(x, (2, 1, 0, 3), mode="reflect"),
    recorded_as=("reflection_pad2d", "pad"),
    symbolic=(lambda f, x: f.reflection_pad2d(x, (x.shape[0], 1, x.shape[-1] - 1, 0)),),
)


def op(*arguments: Any) -> "t.Tensor":
    return torch.ops.torch_aclnn.reflection_pad2d_backward(*arguments)


def draw_arguments(draw: Draw) -> tuple[Any, ...]:
    from support.marks import STRICT

    size = [*draw_planes(draw), draw_size(draw), draw_size(draw)]
    largest = [min(4, d - 1) for d in (size[-1], size[-1], size[-2], size[-2])]
    left, right, top, bottom = padding = [draw(st.integers(0 if STRICT else -2, value)) for value in largest]
    padded = [*size[:-2], max(size[-2] + top + bottom, 0), max(size[-1] + left + right, 0)]
    return draw_tensor(draw, padded, draw_dtype(draw)), size, padding


AWKWARD_PADDINGS = ((1, 1, 1, 1), (3, 0, 0, 5), (36, 35, 5, 4), (-1, 2, -2, 1), (0, 0, 0, 0), (-2, -3, 0, 0))


def awkward_results(layout: Any, dtype: Any) -> "Iterator[t.Tensor]":
    for left, right, top, bottom in AWKWARD_PADDINGS:
        for channels, width in ((5, 37), (19, 9)):  # from 32 planes on small ones have a loop of their own
            if max(left, right) >= width:
                continue
            grad = layout(awkward_values(2, channels, 6 + top + bottom, width + left + right, dtype=dtype))
            yield op(grad, (2, channels, 6, width), (left, right, top, bottom))


def out(device: str) -> OutCase:
    call = lambda grad, out: torch.ops.torch_aclnn.reflection_pad2d_backward.out(grad, (2, 2, 2, 2), (0, 1, 0, 1), out=out)
    return OutCase(call, torch.ones(2, 2, 3, 3, device=device), (2, 2, 2, 2))


def on(device: str, padding: list[int]) -> "t.Tensor":
    return op(torch.ones(1, 1, 4, 4, device=device), (1, 1, 2, 2), padding)


HUGE = 2**62

OPERATOR = OperatorCase(
    "reflection_pad2d",
    draw_arguments,
    awkward_results,
    awkward_dtypes=("float32", "float16", "bfloat16", "float64", "complex64", "complex128"),
    out=out,
    bad_arguments={
        "3 paddings": (lambda d: on(d, [1, 1, 1]), "padding: expected [4] values, got 3"),
        "padding of 2^63 - 1": (lambda d: on(d, [2**63 - 1, 1, 1, 1]), "padding: expected values from -2147483648"),
        "paddings whose sum wraps": (lambda d: on(d, [HUGE, HUGE + 2, HUGE, HUGE]), "padding: expected values from"),
        "padding of another gradient": (
            lambda d: on(d, [1, 0, 1, 1]),
            "grad_output: expected shape [1, 1, 4, 3] by input_size and padding, got [1, 1, 4, 4]",
        ),
        "padded size below 1": (lambda d: on(d, [-1, -1, 1, 1]), "padding: expected a padded size of at least 1"),
        "padding as large as the input": (lambda d: on(d, [2, 0, 1, 1]), "padding: expected values below the size that they extend"),
    },
    strides=StridesCase(
        (2, 3, 6, 8),
        lambda g, x: op(g, x.shape, (1, 1, 1, 1)),
        lambda g, x: torch.ops.aten.reflection_pad2d_backward(g, x, (1, 1, 1, 1)),
    ),
)

LIMITS = Limits(
    node="ReflectionPad2dBackward",
    within={
        "padding one less than the input": lambda f, x: f.reflection_pad2d(x, 3),
    },
    torch_node="ReflectionPad2DBackward0",
    beyond={"cropping by as much as wanted": lambda f, x: f.reflection_pad2d(x, (3, -3, -3, 3))},
    numpy_modules={"one integer": lambda: (torch.nn.ReflectionPad2d(np.int64(2)), torch.nn.ReflectionPad2d(2))},
)
