"""Average pooling."""

from collections.abc import Iterator, Sequence
from ctypes import c_int8
from typing import TYPE_CHECKING, Any

from support.cases import FunctionCase, Limits, OperatorCase, OutCase, StridesCase
from support.definitions import Term, cells, sum_terms, sum_terms_of_tensor
from support.entry_point import EntryPoint, Undocumented, by_product
from support.lazy import numpy as np
from support.lazy import strategies as st
from support.lazy import torch
from support.samples import Draw, awkward_values, draw_dtype, draw_planes, draw_size, draw_tensor
from support.tensors import Tensor

if TYPE_CHECKING:
    import torch as t

Pair = Sequence[int]

NAME = "aclnnAvgPool2dBackward"


def terms(
    grad_shape: Pair,
    shape: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    include_pad: bool = True,
    divisor_override: int | None = 0,
) -> Iterator[Term]:
    """Each window's gradient goes to each of its cells, divided by the window's size."""
    height, width = shape[-2:]
    for i, (oh, ow) in enumerate(cells(grad_shape)):
        top, left = oh * stride[0] - padding[0], ow * stride[1] - padding[1]
        bottom, right = min(top + kernel[0], height + padding[0]), min(left + kernel[1], width + padding[1])
        window = (bottom - top) * (right - left)
        rows, columns = range(max(top, 0), min(bottom, height)), range(max(left, 0), min(right, width))
        divisor = divisor_override or (window if include_pad else len(rows) * len(columns))
        yield from ((i, h * width + w, divisor) for h in rows for w in columns)


def gradient(grad: Sequence[float], grad_shape: Pair, shape: Pair, *attributes: Any) -> list[float]:
    return sum_terms(grad, grad_shape, shape, terms(grad_shape, shape, *attributes))


def tensor_gradient(grad: "t.Tensor", size: Pair, *attributes: Any) -> "t.Tensor":
    return sum_terms_of_tensor(grad, size, terms(grad.shape, size, *attributes))


GOOD = {
    "gradOutput": Tensor((2, 3, 2, 2)),
    "self": Tensor((2, 3, 4, 4)),
    "kernelSize": (2, 2),
    "stride": (2, 2),
    "padding": (0, 0),
    "ceilMode": False,
    "countIncludePad": True,
    "divisorOverride": 0,
    "cubeMathType": 1,
    "gradInput": Tensor((2, 3, 4, 4)),
}


def large(make: Any) -> dict[str, Any]:
    tensors = {name: make.floats(2, 8, 64, 65) for name in ("gradOutput", "self", "gradInput")}
    return {**GOOD, "kernelSize": (3,), "stride": (1,), "padding": (1,), "countIncludePad": False, **tensors}


ENTRY_POINT = EntryPoint(
    NAME,
    GOOD,
    dtypes=by_product({"FLOAT", "FLOAT16"}, {"FLOAT", "FLOAT16"}, {"FLOAT", "FLOAT16", "BF16"}),
    large=large,
    scalar_types={"cubeMathType": c_int8},
    float64_extension=True,
    undocumented={"no stride": Undocumented({"stride": None}, "stride", "a value")},
)

FUNCTION = FunctionCase(
    "avg_pool2d",
    lambda f, x: f.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    sizes=((2, 3, 8, 6), (4, 3, 9, 7), (5, 3, 12, 10)),
    recorded_as=("avg_pool2d",),
)


def op(*arguments: Any, **options: Any) -> "t.Tensor":
    return torch.ops.torch_aclnn.avg_pool2d_backward(*arguments, **options)


def draw_arguments(draw: Draw) -> tuple[Any, ...]:
    kernel, stride, pad = ([draw(st.integers(*limits)) for _ in range(2)] for limits in ((1, 4), (1, 3), (0, 2)))
    size = [*draw_planes(draw), draw_size(draw), draw_size(draw)]
    ceil = draw(st.booleans())
    out = [(s + 2 * p - k + (t - 1 if ceil else 0)) // t + 1 for s, k, t, p in zip(size[-2:], kernel, stride, pad, strict=True)]
    if ceil:
        out = [o - ((o - 1) * t >= s + p) for o, s, t, p in zip(out, size[-2:], stride, pad, strict=True)]
    grad = draw_tensor(draw, [*size[:-2], *(max(o, 0) for o in out)], draw_dtype(draw))
    return grad, size, kernel, stride, pad, ceil, draw(st.booleans()), draw(st.sampled_from([None, None, 3, -2, 0]))


# (H, W), kernel, stride, padding, ceil_mode: each way to sum columns, with and without overlap, gaps and uncovered borders.
AWKWARD_POOLINGS = (
    ((7, 9), (3, 3), (1, 1), (1, 1), False),
    ((9, 35), (5, 2), (2, 1), (2, 0), False),
    ((17, 13), (3, 3), (2, 2), (1, 1), True),
    ((8, 40), (2, 2), (2, 2), (0, 0), False),
    ((9, 31), (1, 1), (2, 2), (0, 0), False),
    ((11, 20), (5, 5), (3, 3), (2, 2), False),
    ((12, 26), (4, 7), (5, 3), (0, 3), True),
    ((20, 45), (7, 20), (7, 1), (3, 10), False),
    ((6, 70), (3, 8), (2, 4), (1, 4), False),
    ((29, 47), (3, 47), (3, 47), (0, 0), True),
)


def awkward_results(layout: Any, dtype: Any) -> "Iterator[t.Tensor]":
    for (h, w), kernel, stride, padding, ceil_mode in AWKWARD_POOLINGS:
        for include, divisor in ((True, None), (False, None), (True, -3)):
            arguments = (kernel, stride, padding, ceil_mode, include, divisor)
            for channels in (5, 19):  # from 32 planes on small ones have a loop of their own
                shape = torch.nn.functional.avg_pool2d(torch.empty(2, channels, h, w), *arguments).shape
                yield op(layout(awkward_values(*shape, dtype=dtype)), (2, channels, h, w), *arguments)


def out(device: str) -> OutCase:
    call = lambda grad, out: torch.ops.torch_aclnn.avg_pool2d_backward.out(grad, (2, 2, 4, 4), (2, 2), out=out)
    return OutCase(call, torch.ones(2, 2, 2, 2, device=device), (2, 2, 4, 4))


def on(device: str, kernel: Any = (2, 2), stride: Any = (), padding: Any = (0, 0), size: Any = (1, 1, 4, 4)) -> "t.Tensor":
    return op(torch.ones(1, 1, 2, 2, device=device), size, kernel, stride, padding)


HUGE = 2**62
BAD_ARGUMENTS = {
    "empty kernel_size": (lambda d: on(d, kernel=[]), "kernel_size: expected [1, 2] values, got 0"),
    "stride of another gradient": (
        lambda d: on(d, stride=[1, 2]),
        "grad_output: expected shape [1, 1, 3, 2] by input_size, kernel_size, stride, padding and ceil_mode, got [1, 1, 2, 2]",
    ),
    "empty kernel_size with stride": (lambda d: on(d, kernel=[], stride=[2, 2]), "kernel_size: expected [1, 2] values, got 0"),
    "three kernel sizes": (lambda d: on(d, kernel=[2, 2, 2]), "kernel_size: expected [1, 2] values, got 3"),
    "three strides": (lambda d: on(d, stride=[2, 2, 2]), "stride: expected [0, 1, 2] values, got 3"),
    "empty padding": (lambda d: on(d, padding=[]), "padding: expected [1, 2] values, got 0"),
    "three paddings": (lambda d: on(d, padding=[0, 0, 0]), "padding: expected [1, 2] values, got 3"),
    "kernel_size of 0": (lambda d: on(d, kernel=[0, 2]), "kernel_size: expected values from 1 to 2147483647, got [0, 2]"),
    "kernel_size beyond any size": (lambda d: on(d, kernel=[HUGE, HUGE]), "kernel_size: expected values from 1"),
    "stride of 0": (lambda d: on(d, stride=[0, 1]), "stride: expected values from 1"),
    "negative padding": (lambda d: on(d, padding=[-1, 0]), "padding: expected values from 0"),
    "padding beyond half a window": (lambda d: on(d, padding=[2, 0]), "padding: expected values of at most half of kernel_size"),
    "negative input_size": (lambda d: on(d, size=(-1, -1, 4, 4)), "input_size: expected sizes from 0"),
}

OPERATOR = OperatorCase(
    "avg_pool2d",
    draw_arguments,
    awkward_results,
    awkward_dtypes=("float32", "float16", "bfloat16", "float64"),
    out=out,
    bad_arguments=BAD_ARGUMENTS,
    strides=StridesCase(
        (2, 3, 2, 3),
        lambda g, x: op(g, x.shape, (2, 2)),
        lambda g, x: torch.ops.aten.avg_pool2d_backward(g, x, (2, 2), (2, 2), (0, 0), False, True, None),
        follows_channels_last=True,
    ),
)


def numpy_arguments() -> "tuple[t.nn.Module, t.nn.Module]":
    two = np.int64(2)
    given = torch.nn.AvgPool2d(two, stride=two, padding=np.int32(1), divisor_override=np.uint8(3))
    return given, torch.nn.AvgPool2d(2, 2, 1, divisor_override=3)


LIMITS = Limits(
    node="AvgPool2dBackward",
    within={
        "a divisor of -255": lambda f, x: f.avg_pool2d(x, 2, divisor_override=-255),
        "65535 channels": lambda f, x: f.avg_pool2d(x.expand(1, 65535, 4, 4), 2),
    },
    torch_node="AvgPool2DBackward0",
    beyond={
        "a divisor above 255": lambda f, x: f.avg_pool2d(x, 2, divisor_override=256),
        "a divisor below -255": lambda f, x: f.avg_pool2d(x, 2, divisor_override=-(2**33)),
        "more than 65535 channels": lambda f, x: f.avg_pool2d(x.expand(1, 65536, 4, 4), 2),
    },
    modules=lambda: (torch.nn.AvgPool2d(2, divisor_override=256),),
    numpy_modules={
        "integers": numpy_arguments,
        "lists": lambda: (torch.nn.AvgPool2d([np.int64(2), 3], stride=(np.int64(2), 1)), torch.nn.AvgPool2d((2, 3), (2, 1))),
    },
)
