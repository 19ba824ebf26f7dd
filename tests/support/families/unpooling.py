"""Max unpooling of planes."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from support.cases import FunctionCase, Limits, OperatorCase, OutCase, Row, backward
from support.definitions import Shape, last
from support.dtypes import DType
from support.entry_point import EntryPoint, by_product, volumes_of_four_dimensions
from support.lazy import strategies as st
from support.lazy import torch
from support.samples import Draw, draw_planes, draw_size, draw_tensor
from support.tensors import Tensor

if TYPE_CHECKING:
    from torch import Tensor as TorchTensor

DTYPES = {"FLOAT", "FLOAT16", "INT8", "UINT8", "INT16", "INT32", "INT64"}


class Unpooling:
    """The gradient for planes of so many dimensions."""

    def __init__(self, dims: int) -> None:
        self.dims, self.name = dims, f"max_unpool{dims}d"
        self.steps: tuple[Any, ...] = ((2,) * dims, (0,) * dims) if dims == 3 else ()  # stride and padding

    def gradient(self, grad: Sequence[Any], grad_shape: Shape, indices: Sequence[int], shape: Shape) -> list[Any]:
        """Take each element from the position in its plane that its index names; an index outside gives zero."""
        plane, cell_count = math.prod(grad_shape[-self.dims :]), math.prod(shape[-self.dims :])
        return [grad[position // cell_count * plane + index] if 0 <= index < plane else 0 for position, index in enumerate(indices)]

    def tensor_gradient(self, grad: "TorchTensor", indices: "TorchTensor") -> "TorchTensor":
        result = self.gradient(grad.flatten().tolist(), grad.shape, indices.flatten().tolist(), indices.shape)
        return torch.tensor(result, dtype=grad.dtype).view(indices.shape)

    def op(self, grad: "TorchTensor", indices: "TorchTensor", output_size: Shape, **out: "TorchTensor") -> "TorchTensor":
        return backward(self.name)(grad, indices, output_size, *self.steps, **out)

    def entry_point(self) -> EntryPoint:
        unpooled, shape = last(self.dims, 4, 4, 2), (2, 3, *last(self.dims, 2, 2, 1))
        good = {
            "gradOutput": Tensor((2, 3, *unpooled)),
            "self": Tensor(shape),
            "indices": Tensor(shape, DType.INT64, [0] * math.prod(shape)),
            "outputSize": unpooled,
            **dict(zip(("stride", "padding"), self.steps, strict=False)),
            "out": Tensor(shape),
        }
        # The pages of the two list other data types.
        types, of_indices = (DTYPES | {"DOUBLE"}, {"INT64"}) if self.dims == 3 else (DTYPES | {"BOOL"}, {"INT64", "INT32"})

        def large(make: Any) -> dict[str, Any]:
            shape = (2, 8, *last(self.dims, 16, 16, 20))
            tensors = {name: make.floats(*shape) for name in ("self", "out")}
            indices = make.indices(math.prod(unpooled), *shape)
            return {**good, "gradOutput": make.floats(2, 8, *unpooled), "indices": indices, **tensors}

        return EntryPoint(
            f"aclnnMaxUnpool{self.dims}dBackward",
            good,
            dtypes=by_product(set(), types, on_untold=False),
            large=large,
            fixed_dtypes={"indices": by_product(set(), of_indices, on_untold=False)},
            float64_extension=self.dims == 2,
            contiguous_output=self.dims == 3,
            undocumented={"four dimensions as NCDHW": volumes_of_four_dimensions(good)} if self.dims == 3 else {},
        )

    def others(self, size: tuple[int, ...]) -> "tuple[TorchTensor, ...]":
        unpooled = torch.rand(*size[: -self.dims], *(2 * s for s in size[-self.dims :]))
        return (getattr(torch.nn.functional, f"max_pool{self.dims}d")(unpooled, 2, return_indices=True)[1],)

    def draw_arguments(self, draw: Draw) -> tuple[Any, ...]:
        planes, size = draw_planes(draw), [draw_size(draw) for _ in range(self.dims)]
        pooled = [*planes, *(draw(st.integers(1, 3)) for _ in range(self.dims))]
        indices = draw_tensor(draw, pooled, draw(st.sampled_from([torch.int64] * 4 + [torch.int32, torch.float32])))
        stride = [draw(st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 4])) for _ in range(self.dims)]
        grad = draw_tensor(draw, [*planes, *size], draw(st.sampled_from([torch.float32, torch.float16, torch.int32])))
        return grad, indices * 0, size, *((stride, [0] * self.dims) if self.steps else ())

    def out(self, device: str) -> OutCase:
        ones = [1] * (self.dims - 1)
        index = torch.zeros(1, 1, *ones, 2, dtype=torch.int64, device=device)
        call = lambda grad, out: backward(self.name).out(grad, index, (*ones, 4), *self.steps, out=out)
        return OutCase(call, torch.ones(1, 1, *ones, 4, device=device), (1, 1, *ones, 2))

    def bad_arguments(self) -> dict[str, Any]:
        dims, ones = self.dims, [1] * (self.dims - 1)

        def on(device: str, output_size: Any = (*ones, 4), steps: Any = self.steps) -> "TorchTensor":
            indices = torch.ones(1, 1, *ones, 2, device=device, dtype=torch.int64)
            return backward(self.name)(torch.ones(1, 1, *ones, 4, device=device), indices, output_size, *steps)

        shape = f"expected shape {[1, 1, *ones, 5]} by indices and output_size, got {[1, 1, *ones, 4]}"
        rows = {
            "output_size of too few numbers": (lambda d: on(d, ones), f"output_size: expected [{dims}] values, got {dims - 1}"),
            "output_size of 0": (lambda d: on(d, (*ones[1:], 0, 4)), "output_size: expected values from 1"),
            "output_size of another gradient": (lambda d: on(d, (*ones, 5)), f"grad_output: {shape}"),
        }
        if dims == 3:
            rows["output_size that wraps"] = (lambda d: on(d, (2**31 - 1,) * 3), "output_size: expected fewer than 2^63 elements")
        if self.steps:
            stride, padding = self.steps
            rows["empty stride of an unpooling"] = (lambda d: on(d, steps=([], padding)), f"stride: expected [{dims}] values, got 0")
            rows["empty padding of an unpooling"] = (lambda d: on(d, steps=(stride, [])), f"padding: expected [{dims}] values, got 0")
        return rows

    def unpooled_bfloat16(self, f: Any, x: "TorchTensor") -> "TorchTensor":
        indices = torch.zeros(x.shape, dtype=torch.int64, device=x.device)
        return getattr(f, self.name)(x.to(torch.bfloat16), indices, 2)

    def row(self) -> Row:
        name = self.name
        return Row(
            self.dims,
            self.entry_point(),
            FunctionCase(
                name,
                lambda f, x, indices: getattr(f, name)(x, indices, 2),
                sizes=tuple((batch, 2, *last(self.dims, *plane)) for batch, plane in ((2, (2, 2, 3)), (4, (3, 5, 6)), (5, (3, 6, 7)))),
                others=self.others,
                saved=(1,),
                recorded_as=(name,),
            ),
            OperatorCase(name, self.draw_arguments, out=self.out, bad_arguments=self.bad_arguments()),
            Limits(node=f"MaxUnpool{self.dims}dBackward", within={"unpooling bfloat16": self.unpooled_bfloat16}),
            self.gradient,
            self.tensor_gradient,
        )


UNPOOLINGS = (Unpooling(2), Unpooling(3))
ROWS = tuple(unpooling.row() for unpooling in UNPOOLINGS)
