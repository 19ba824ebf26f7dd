"""The contract of each entry point on planes, by family and dimensions: calls with exact results, and what is refused."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from support.contract_rows import difference_rows, dtype_rows, null_rows, private_format_rows, row, storage_rows, text
from support.dtypes import PRIVATE_FORMATS, DType, Format, numbers
from support.entry_point import A2, EntryPoint
from support.tensors import Tensor, but, every_tensor, tensors_of

PUBLIC = tuple(format for format in Format if format not in PRIVATE_FORMATS)
IMAGES = (Format.NCHW, Format.NCL)
Rows = Iterator[Any]


class Contract:
    """What holds for every family; a family has calls, and rows of its own."""

    source: str | None = ""  # where gradOutput's sizes come from, by the message
    planes_with_elements = True  # no dimension but N may be 0
    public_formats = PUBLIC

    def __init__(self, entry_point: EntryPoint, dims: int, gradient: Callable[..., list[Any]]) -> None:
        self.name, self.good, self.dims, self.gradient = entry_point.name, entry_point.good, dims, gradient
        self.result, self.contiguous_output = entry_point.output, entry_point.contiguous_output
        self.tensors = ("gradOutput", "self", self.result)
        self.like_self = [name for name in tensors_of(self.good) if name != "gradOutput"]
        self.listed = sorted(DType[name] for name in entry_point.dtypes[A2[0]])
        self.grad_shape, self.shape = self.good["gradOutput"].shape, self.good["self"].shape

    def __str__(self) -> str:
        return self.name

    def calls(self) -> Iterator[tuple[Any, ...]]:
        """Return argument lists for `call`, without the data type and the leading dimensions."""
        raise NotImplementedError

    def call(self, *numbers: Any, dtype: DType = DType.FLOAT, lead: tuple[int, ...] = (2, 3)) -> tuple[dict[str, Any], list[Any]]:
        """Return the arguments of an entry point and the exact result."""
        raise NotImplementedError

    def gradient_of(self, values: Sequence[Any], arguments: dict[str, Any]) -> list[Any]:
        """Return the exact result for a gradient of these values, with the attributes of the arguments."""
        attributes = [value for name, value in arguments.items() if not isinstance(value, Tensor) and name != "cubeMathType"]
        return self.gradient(values, arguments["gradOutput"].shape, arguments["self"].shape, *attributes)

    def many_ones(self) -> tuple[Any, ...]:
        """Return the arguments of `call` for a gradient of ones that a half type cannot sum exactly."""
        raise NotImplementedError

    def axes(self, **last: int) -> tuple[int, ...]:
        """Return a number for each dimension of the plane: that of the last one, and 1 for the others."""
        return (*[1] * (self.dims - 1), last["last"])

    def tensors_but(
        self, lead: tuple[int, ...], grad: Sequence[int], plane: Sequence[int], dtype: DType
    ) -> tuple[dict[str, Any], list[Any]]:
        values = numbers(math.prod((*lead, *grad)), dtype)
        tensors = {name: Tensor((*lead, *plane), dtype) for name in ("self", self.result)}
        return but(self.good, gradOutput=Tensor((*lead, *grad), dtype, values), **tensors), values

    def all_like_self(self, shape: tuple[int, ...], grad_shape: tuple[int, ...] | None = None) -> dict[str, Any]:
        changes: dict[str, Any] = {name: {"shape": shape, "values": None} for name in self.like_self}
        return changes | {"gradOutput": {"shape": grad_shape or self.grad_shape}}

    # --- what is refused ---------------------------------------------------------------------------------------------------------------

    def refused(self, group: str) -> list[Any]:
        """Return the rows of a group."""
        return [*getattr(self, group)()]

    def nulls(self) -> Rows:
        yield from null_rows(*self.required())

    def required(self) -> list[str]:
        nullable = {"stride"} if "kernelSize" in self.good else set()
        return [name for name, value in self.good.items() if isinstance(value, Tensor | tuple) and name not in nullable]

    def storage(self) -> Rows:
        yield from storage_rows(self.name)

    def dtypes(self) -> Rows:
        yield from dtype_rows(self.tensors, self.listed)
        yield from difference_rows(self.name, self.tensors, "self", dtype=DType.FLOAT16)

    def formats(self) -> Rows:
        yield from private_format_rows(self.name, reference="self")
        yield from difference_rows(self.name, self.tensors, "self", format=Format.ND)

    def shapes(self) -> Rows:
        dims, rank = self.dims, self.dims + 2
        for shape in [(), (4,), (4,) * dims, (1, 1, *[4] * (dims + 1))]:
            if len(shape) > dims + 2 or len(shape) < dims + 1:
                wrong = every_tensor(self.good, shape=shape, values=None, format=self.format_of_any_rank())
                yield row(f"all of rank {len(shape)}", wrong, "gradOutput", f"^{dims + 1} to {rank} dimensions$", text(shape))
        for name in self.tensors:
            shape = self.good[name].shape[1:]
            changes = {name: {"shape": shape, "values": None, "format": Format(self.good[name].real_format())}}
            reported, expected, got = (name, rank, shape) if name != "self" else ("gradOutput", rank - 1, self.grad_shape)
            yield row(f"{name} of another rank", changes, reported, f"the {expected} dimensions of self", text(got))
        for d, size in enumerate(self.shape):
            shape = (*self.shape[:d], size + 1, *self.shape[d + 1 :])
            for name in self.like_self[1:]:
                changes = {name: {"shape": shape, "values": None}}
                yield row(f"{name} {shape}", changes, name, f"the shape of self, {text(self.shape)}", text(shape))
        for d, size in enumerate(self.grad_shape):
            shape = (*self.grad_shape[:d], size + 1, *self.grad_shape[d + 1 :])
            if d < 2 or self.source is not None:
                source = f", as in {'self' if d < 2 else self.source} " if self.source else ""
                expected = f"^{size} in dimension {d}{source}"
                yield row(f"gradOutput {shape}", {"gradOutput": {"shape": shape}}, "gradOutput", expected, text(shape))
        negative = (*self.grad_shape[:-1], -2)
        yield row("negative dim of gradOutput", {"gradOutput": {"shape": negative}}, "gradOutput", "no negative dimension", text(negative))
        negative = (*self.shape[:-1], -2)
        yield row("negative dim of self", self.all_like_self(negative), "self", "no negative dimension", text(negative))
        for d in range(1, rank) if self.planes_with_elements else ():
            shape, grad_shape = ((*s[:d], 0, *s[d + 1 :]) for s in (self.shape, self.grad_shape))
            changes = self.all_like_self(shape, grad_shape)
            yield row(f"no dimension {d}", changes, "gradOutput", "no dimension of size 0 but N", text(grad_shape))
            yield row(f"self without dimension {d}", self.all_like_self(shape), "self", "no dimension of size 0 but N", text(shape))
        wrong = (0, *self.grad_shape[1:-1], self.grad_shape[-1] + 1)
        if self.source is not None:
            changes = self.all_like_self((0, *self.shape[1:]), wrong)
            yield row("empty batch of another size", changes, "gradOutput", f"^{self.grad_shape[-1]} in dimension {rank - 1}", text(wrong))
        yield from self.own_shapes()

    def format_of_any_rank(self) -> Format:
        return Format.NCHW if self.public_formats == IMAGES else Format.ND

    def own_shapes(self) -> Rows:
        yield from ()

    def attributes(self) -> Rows:
        yield from ()

    def lengths_and_least(self, name: str, lengths: Sequence[int], least: int) -> Rows:
        of_any = ", ".join(map(str, lengths))
        for length in {0, 1, 2, 3, 4, 5, 7} - set(lengths):
            if length or name != "stride" or "kernelSize" not in self.good:
                yield row(f"{name} of length {length}", {name: (1,) * length}, name, f"^{of_any} values$", f"^{length}$")
        for place in range(lengths[-1]):
            values = [*self.good[name]]
            for wrong in (least - 1, 2**31):
                values[place] = wrong
                yield row(f"{name} {values}", {name: tuple(values)}, name, f"^values of at least {least} and below", f"^{wrong}$")
