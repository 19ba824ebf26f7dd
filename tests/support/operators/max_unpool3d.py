"""Max unpooling of volumes."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from support.cases import FunctionCase, Limits, OperatorCase, OutCase
from support.definitions import Shape
from support.dtypes import DType
from support.entry_point import EntryPoint, by_product
from support.lazy import strategies as st
from support.lazy import torch
from support.samples import Draw, awkward_values, draw_planes, draw_size, draw_tensor
from support.tensors import Tensor

if TYPE_CHECKING:
    import torch as t

NAME = "aclnnMaxUnpool3dBackward"


def gradient(grad: Sequence[Any], grad_shape: Shape, indices: Sequence[int], shape: Shape) -> list[Any]:
    """Each element comes from where its index says in its volume; an index outside gives zero."""
    volume, cell_count = math.prod(grad_shape[-3:]), math.prod(shape[-3:])
    return [grad[position // cell_count * volume + index] if 0 <= index < volume else 0 for position, index in enumerate(indices)]


def tensor_gradient(grad: "t.Tensor", indices: "t.Tensor") -> "t.Tensor":
    result = gradient(grad.flatten().tolist(), grad.shape, indices.flatten().tolist(), indices.shape)
    return torch.tensor(result, dtype=grad.dtype).view(indices.shape)


GOOD = {
    "gradOutput": Tensor((2, 3, 4, 4, 2)),
    "self": Tensor((2, 3, 2, 2, 1)),
    "indices": Tensor((2, 3, 2, 2, 1), DType.INT64, [0] * 24),
    "outputSize": (4, 4, 2),
    "stride": (2, 2, 2),
    "padding": (0, 0, 0),
    "out": Tensor((2, 3, 2, 2, 1)),
}
DTYPES = {"FLOAT", "FLOAT16", "INT8", "UINT8", "INT16", "INT32", "INT64", "DOUBLE"}


def large(make: Any) -> dict[str, Any]:
    tensors = {name: make.floats(2, 8, 16, 16, 20) for name in ("self", "out")}
    indices = make.indices(32, 2, 8, 16, 16, 20)
    return {**GOOD, "gradOutput": make.floats(2, 8, 4, 4, 2), "indices": indices, **tensors}


ENTRY_POINT = EntryPoint(
    NAME,
    GOOD,
    dtypes=by_product(set(), DTYPES, DTYPES, on_untold=False),
    large=large,
    fixed_dtypes={"indices": by_product(set(), {"INT64"}, {"INT64"}, on_untold=False)},
    contiguous_output=True,
)


def others(size: tuple[int, ...]) -> "tuple[t.Tensor, ...]":
    *leading, depth, height, width = size
    unpooled = torch.rand(*leading, 2 * depth, 2 * height, 2 * width)
    return (torch.nn.functional.max_pool3d(unpooled, 2, return_indices=True)[1],)


FUNCTION = FunctionCase(
    "max_unpool3d",
    lambda f, x, indices: f.max_unpool3d(x, indices, 2),
    sizes=((2, 2, 2, 2, 3), (4, 2, 3, 5, 6), (5, 2, 3, 6, 7)),
    others=others,
    saved=(1,),
    recorded_as=("max_unpool3d",),
)


def op(*arguments: Any) -> "t.Tensor":
    return torch.ops.torch_aclnn.max_unpool3d_backward(*arguments)


def draw_arguments(draw: Draw) -> tuple[Any, ...]:
    planes = draw_planes(draw)
    size = [draw_size(draw) for _ in range(3)]
    pooled = [*planes, *(draw(st.integers(1, 3)) for _ in range(3))]
    indices = draw_tensor(draw, pooled, draw(st.sampled_from([torch.int64] * 4 + [torch.int32, torch.float32])))
    stride = [draw(st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 4])) for _ in range(3)]
    grad = draw_tensor(draw, [*planes, *size], draw(st.sampled_from([torch.float32, torch.float16, torch.int32])))
    return grad, indices * 0, size, stride, [0, 0, 0]


def awkward_results(layout: Any, dtype: Any) -> "Iterator[t.Tensor]":
    grad = awkward_values(2, 3, 4, 6, 10, dtype=torch.float64).nan_to_num().clamp(-100, 100).to(dtype)
    indices = torch.randint(0, 240, (2, 3, 2, 3, 70), generator=torch.Generator().manual_seed(1))
    yield op(layout(grad), layout(indices), (4, 6, 10), (2, 2, 2), (0, 0, 0))
    grad = awkward_values(2, 19, 2, 3, 4, dtype=torch.float64).nan_to_num().clamp(-100, 100).to(dtype)
    indices = torch.randint(0, 24, (2, 19, 1, 2, 3), generator=torch.Generator().manual_seed(2))
    yield op(layout(grad), layout(indices), (2, 3, 4), (2, 2, 2), (0, 0, 0))


def out(device: str) -> OutCase:
    index = torch.zeros(1, 1, 1, 1, 2, dtype=torch.int64, device=device)
    write = torch.ops.torch_aclnn.max_unpool3d_backward.out
    call = lambda grad, out: write(grad, index, (1, 1, 4), (1, 1, 2), (0, 0, 0), out=out)
    return OutCase(call, torch.ones(1, 1, 1, 1, 4, device=device), (1, 1, 1, 1, 2))


def on(device: str, output_size: Any = (1, 1, 4), stride: Any = (1, 1, 2), padding: Any = (0, 0, 0)) -> "t.Tensor":
    indices = torch.ones(1, 1, 1, 1, 2, device=device, dtype=torch.int64)
    return op(torch.ones(1, 1, 1, 1, 4, device=device), indices, output_size, stride, padding)


OPERATOR = OperatorCase(
    "max_unpool3d",
    draw_arguments,
    awkward_results,
    awkward_dtypes=("float32", "float16", "bfloat16", "float64", "int8", "int64"),
    out=out,
    bad_arguments={
        "empty stride of an unpooling": (lambda d: on(d, stride=[]), "stride: expected [3] values, got 0"),
        "empty padding of an unpooling": (lambda d: on(d, padding=[]), "padding: expected [3] values, got 0"),
        "output_size of 2 numbers": (lambda d: on(d, output_size=(1, 4)), "output_size: expected [3] values, got 2"),
        "output_size that wraps": (lambda d: on(d, output_size=(2**31 - 1,) * 3), "output_size: expected fewer than 2^63 elements"),
        "output_size of 0": (lambda d: on(d, output_size=(1, 0, 4)), "output_size: expected values from 1"),
        "output_size of another gradient": (
            lambda d: on(d, output_size=(1, 1, 5)),
            "grad_output: expected shape [1, 1, 1, 1, 5] by indices and output_size, got [1, 1, 1, 1, 4]",
        ),
    },
)


def unpooled_bfloat16(f: Any, x: "t.Tensor") -> "t.Tensor":
    indices = torch.zeros(1, 1, 1, 4, 4, dtype=torch.int64, device=x.device)
    return f.max_unpool3d(x[None].to(torch.bfloat16), indices, 2)


LIMITS = Limits(node="MaxUnpool3dBackward", within={"unpooling bfloat16": unpooled_bfloat16})
