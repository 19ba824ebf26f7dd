"""Batch norm's element-wise gradient."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from support.cases import FunctionCase, Limits, OperatorCase, OutCase, Row, StridesCase
from support.definitions import Shape
from support.entry_point import EntryPoint, Undocumented, by_pages, by_product
from support.lazy import strategies as st
from support.lazy import torch
from support.samples import Draw, draw_dtype, draw_tensor
from support.status import NULL
from support.tensors import Tensor

if TYPE_CHECKING:
    import torch as t

CHANNELS = ("mean", "invstd", "weight", "sumDy", "sumDyXmu")


def formula(dy: Any, x: Any, mean: Any, invstd: Any, weight: Any, sum_dy: Any, sum_dy_xmu: Any, n: Any) -> Any:
    """Return the gradient of one element, or of tensors of elements, with tensors of their channels' values."""
    return ((dy - sum_dy / n) - (x - mean) * (invstd * invstd * sum_dy_xmu / n)) * invstd * weight


def gradient(
    grad: Sequence[float], data: Sequence[float], shape: Shape, channels: Mapping[str, Sequence[float]], counter: Sequence[float]
) -> list[float]:
    n, inner = sum(counter), math.prod(shape[2:])
    channel = [[channels[name][c] for name in CHANNELS] for c in range(shape[1])]
    return [formula(dy, x, *channel[i // inner % shape[1]], n) for i, (dy, x) in enumerate(zip(grad, data, strict=True))]


def tensor_gradient(grad: "t.Tensor", data: "t.Tensor", mean: Any, invstd: Any, weight: Any, *sums_and_count: "t.Tensor") -> "t.Tensor":
    *sums, count = sums_and_count
    weight = torch.ones_like(mean) if weight is None else weight
    channels = [values.double().view(1, -1, *[1] * (data.dim() - 2)) for values in (mean, invstd, weight, *sums)]
    return formula(grad.double(), data.double(), *channels, count.double().sum())


GOOD = {
    "gradOut": Tensor((2, 3, 1, 4)),
    "input": Tensor((2, 3, 1, 4)),
    **{name: Tensor((3,)) for name in CHANNELS},
    "counter": Tensor((3,)),
    "gradInput": Tensor((2, 3, 1, 4)),
}
COUNTER = {"INT32", "FLOAT16", "FLOAT"}


def large(make: Any) -> dict[str, Any]:
    return {
        name: make.floats(3) if name == "counter" else make.floats(8) if name in CHANNELS else make.floats(2, 8, 64, 65) for name in GOOD
    }


ENTRY_POINT = EntryPoint(
    "aclnnBatchNormElemtBackward",
    GOOD,
    dtypes=by_pages("batch_norm_elemt"),
    large=large,
    fixed_dtypes={"counter": by_product(set(), COUNTER)},
    float64_extension=True,
    shape_only=(),
    takes_empty=True,
    undocumented={"no weight": Undocumented({"weight": None}, "weight", "a value", NULL)},
)


def others(size: tuple[int, ...]) -> "tuple[t.Tensor, ...]":
    return torch.rand(size[1]) + 0.5, torch.randn(size[1])


def definition(x: "t.Tensor", weight: "t.Tensor", bias: "t.Tensor") -> "t.Tensor":
    variance, mean = torch.var_mean(x, (0, 2, 3), correction=0, keepdim=True)
    return (x - mean) * (variance + 1e-5).rsqrt() * weight.view(1, -1, 1, 1) + bias.view(1, -1, 1, 1)


FUNCTION = FunctionCase(
    "batch_norm",
    lambda f, x, weight, bias: f.batch_norm(x, None, None, weight, bias, training=True),
    sizes=((2, 3, 4, 6), (4, 3, 9, 7), (5, 3, 12, 10)),
    others=others,
    saved=(0, 1),
    definition=definition,
    compiles_forward_mode=False,
    recorded_as=("batch_norm",),
)


def op(*arguments: Any) -> "t.Tensor":
    return torch.ops.torch_aclnn.batch_norm_elemt_backward(*arguments)


def draw_arguments(draw: Draw) -> tuple[Any, ...]:
    shape = [draw(st.integers(1, 3)) for _ in range(draw(st.sampled_from([2, 3, 4, 5, 1])))]
    dtype, statistics = draw_dtype(draw), draw_dtype(draw)
    mean, invstd, sum_dy, sum_dy_xmu, weight = (draw_tensor(draw, [shape[1] if len(shape) > 1 else 1], statistics) for _ in range(5))
    counts = (torch.tensor([3, 5], dtype=torch.int32), torch.tensor(8.0), torch.ones(2, 2), torch.zeros(0), torch.tensor([8]))
    grad, data = (draw_tensor(draw, shape, dtype) for _ in range(2))
    return grad, data, mean, invstd, weight if draw(st.booleans()) else None, sum_dy, sum_dy_xmu, draw(st.sampled_from(counts))


def statistics(device: Any, channels: int) -> "list[t.Tensor]":
    vectors = [torch.ones(channels, device=device) for _ in range(5)]
    return [*vectors, torch.ones(1, dtype=torch.int32, device=device)]


def out(device: str) -> OutCase:
    data, write = torch.ones(2, 2, 2, 2, device=device), torch.ops.torch_aclnn.batch_norm_elemt_backward.out
    call = lambda grad, out: write(grad, data, *statistics(device, 2), out=out)
    return OutCase(call, torch.ones(2, 2, 2, 2, device=device), (2, 2, 2, 2))


def on(device: str, *, channels: int = 3, data: tuple[int, ...] = (2, 3, 4)) -> "t.Tensor":
    return op(torch.ones(2, 3, 4, device=device), torch.ones(data, device=device), *statistics(device, channels))


OPERATOR = OperatorCase(
    "batch_norm_elemt",
    draw_arguments,
    out=out,
    bad_arguments={
        "vectors of another size": (lambda d: on(d, channels=2), "mean: expected shape [3], got [2]"),
        "an input of another size": (lambda d: on(d, data=(2, 3, 5)), "grad_out: expected shape [2, 3, 5], got [2, 3, 4]"),
    },
    strides=StridesCase(
        (2, 3, 4, 6),
        (2, 3, 4, 6),
        lambda g, x: op(g, x, *statistics(x.device, 3)),
        lambda g, x: torch.ops.aten.batch_norm_backward_elemt(g, x, *statistics(x.device, 3)),
    ),
)


def of_dimensions(count: int) -> Any:
    return lambda f, x: f.batch_norm(x.view(2, *[1, 2] * 3, *[1] * (count - 7)), None, None, training=True)


LIMITS = Limits(
    node="BatchNormBackward",
    within={"eight dimensions": of_dimensions(8)},
    torch_node="NativeBatchNormBackward0",
    beyond={"nine dimensions": of_dimensions(9)},
    torch_npu_refuses=("nine dimensions",),
)

# Its planes have any number of dimensions; two are most common.
ROWS = (Row(2, ENTRY_POINT, FUNCTION, OPERATOR, LIMITS, gradient, tensor_gradient),)
