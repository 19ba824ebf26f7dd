"""The contracts of the unpoolings' gradients."""

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from support.contract_rows import difference_rows, dtype_rows, private_format_rows, row, text
from support.contracts.planes import Contract, Rows
from support.dtypes import DType
from support.families import unpooling
from support.tensors import Tensor, but


class MaxUnpool(Contract):
    """Unpooling by indices."""

    source = "outputSize"

    def __init__(self, dims: int) -> None:
        family = unpooling.Unpooling(dims)
        super().__init__(family.entry_point(), dims, family.gradient)
        self.arrays = ("outputSize", "stride", "padding") if dims == 3 else ("outputSize",)

    def calls(self) -> Iterator[tuple[Any, ...]]:
        for size, unpooled in (((2, 3, 2), (4, 5, 3)), ((3, 3, 3), (1, 2, 1)), ((1, 1, 1), (2, 2, 2))):
            yield size[-self.dims :], unpooled[-self.dims :]

    def call(
        self,
        *numbers: Any,
        dtype: DType = DType.FLOAT,
        lead: tuple[int, ...] = (2, 3),
        indices: Sequence[int] | None = None,
        index_type: DType = DType.INT64,
    ) -> tuple[dict[str, Any], list[Any]]:
        size, unpooled = numbers
        arguments, values = self.tensors_but(lead, unpooled, size, dtype)
        shape = arguments["self"].shape
        if indices is None:
            source = random.Random(1)
            indices = [source.randrange(math.prod(unpooled)) for _ in range(math.prod(shape))]
        arguments = but(arguments, indices=Tensor(shape, index_type, indices), outputSize=unpooled)
        if self.dims == 3:
            arguments = but(arguments, stride=(2, 1, 3), padding=(0, 1, -1))
        return arguments, self.gradient(values, (*lead, *unpooled), indices, shape)

    def dtypes(self) -> Rows:
        yield from dtype_rows(self.tensors, self.listed)
        yield from difference_rows(self.name, self.tensors, "self", dtype=DType.INT8)
        allowed = {DType.INT64} if self.dims == 3 else {DType.INT64, DType.INT32}
        for dtype in set(DType) - allowed:
            yield row(f"indices {dtype.name}", {"indices": {"dtype": dtype, "values": None}}, "indices", "INT64", dtype.name)

    def formats(self) -> Rows:
        yield from private_format_rows(self.name)

    def own_shapes(self) -> Rows:
        rank = self.dims + 2
        for order in (range(rank), (0, 1, *range(rank - 1, 1, -1))) if self.contiguous_output else ():
            strides = tuple(2 * (d + 1) for d in order)
            changes = {self.result: {"strides": strides}}
            yield row(f"strides {strides}", changes, self.result, "^contiguous strides$", f"^{text(strides)} for shape {text(self.shape)}$")

    def attributes(self) -> Rows:
        for name in self.arrays:
            yield from self.lengths_and_least(name, (self.dims,), {"padding": -(2**31)}.get(name, 1))
        other = tuple(size + 1 for size in self.good["outputSize"])
        expected = rf"^{other[0]} in dimension 2, as in outputSize {text(other)}$"
        yield row("outputSize of another gradient", {"outputSize": other}, "gradOutput", expected, text(self.grad_shape))
