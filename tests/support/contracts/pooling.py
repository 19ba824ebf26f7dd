"""The contracts of the average poolings' gradients."""

from collections.abc import Iterator
from typing import Any

from support.contract_rows import row, text
from support.contracts.planes import IMAGES, PUBLIC, Contract, Rows
from support.definitions import Definition
from support.dtypes import DType, Format
from support.families import adaptive, pooling
from support.tensors import but, every_tensor


class AvgPool(Contract):
    """Average pooling; of images it has a format of its own."""

    planes_with_elements = False
    # For the last two dimensions: size, kernel, stride, padding, ceilMode, countIncludePad, divisorOverride, pooled size.
    CALLS = (
        ((4, 6), (2, 3), (2, 3), (0, 0), False, True, 0, (2, 2)),
        ((5, 7), (3, 3), (1, 2), (0, 0), False, True, 0, (3, 3)),
        ((7, 7), (2, 1), (3, 4), (0, 0), False, True, 0, (2, 2)),  # gaps between the windows
        ((5, 6), (3, 4), (2, 1), (1, 2), False, True, 0, (3, 7)),
        ((5, 6), (3, 4), (2, 1), (1, 2), False, False, 0, (3, 7)),
        ((5, 6), (2, 3), (2, 2), (0, 0), True, True, 0, (3, 3)),
        ((6, 6), (3, 3), (2, 2), (1, 1), True, True, 0, (4, 4)),
        ((6, 6), (3, 3), (2, 2), (1, 1), True, False, 0, (4, 4)),
        ((5, 5), (2, 2), (3, 3), (1, 1), True, True, 0, (2, 2)),  # a last window would start in the padding
        ((3, 3), (5, 4), (3, 2), (0, 0), True, True, 0, (1, 1)),  # a window larger than the input
        ((5, 5), (3, 3), (1, 1), (1, 1), False, True, 7, (5, 5)),
        ((4, 4), (2, 2), (2, 2), (0, 0), False, False, -255, (2, 2)),
    )
    DEPTH = (3, 2, 1, 1, 4)  # for volumes: size, kernel, stride, padding and pooled size of the depth

    def __init__(self, dims: int) -> None:
        super().__init__(pooling.entry_point(dims), dims, Definition(dims, pooling.terms).of_list)
        self.public_formats = IMAGES if dims == 2 else PUBLIC

    def calls(self) -> Iterator[tuple[Any, ...]]:
        depth = [(value,) if self.dims == 3 else () for value in self.DEPTH]
        for size, kernel, stride, pad, ceil_mode, include, divisor, out in self.CALLS:
            arrays = [(*front, *values) for front, values in zip(depth, (size, kernel, stride, pad, out), strict=True)]
            yield (*arrays[:4], ceil_mode, include, divisor, arrays[4])

    def call(self, *numbers: Any, dtype: DType = DType.FLOAT, lead: tuple[int, ...] = (2, 3)) -> tuple[dict[str, Any], list[Any]]:
        size, *attributes, out = numbers
        arguments, values = self.tensors_but(lead, out, size, dtype)
        names = ("kernelSize", "stride", "padding", "ceilMode", "countIncludePad", "divisorOverride")
        arguments = but(arguments, **dict(zip(names, attributes, strict=True)))
        return arguments, self.gradient(values, (*lead, *out), (*lead, *size), *attributes)

    def many_ones(self) -> tuple[Any, ...]:
        ones = self.axes(last=1)
        return self.axes(last=599), self.axes(last=300), ones, (0,) * self.dims, False, True, 1, self.axes(last=300)

    def formats(self) -> Rows:
        if self.dims == 2:
            for name in self.tensors:
                for format in set(Format) - set(IMAGES):
                    yield row(f"{name} {format.name}", {name: {"format": format}}, name, "^format NCHW or NCL$", f"^{format.name}$")
        other, usual = (Format.NCL, "NCHW") if self.dims == 2 else (Format.ND, "NCDHW")
        yield row("result of another format", {self.result: {"format": other}}, self.result, f"the format of self, {usual}", other.name)

    def own_shapes(self) -> Rows:
        ones, last = (1,) * self.dims, self.dims + 1
        changes = {"stride": (3,) * self.dims, "ceilMode": True, "gradOutput": {"shape": (2, 3, *ones)}}
        yield row("ceilMode gives one more", changes, "gradOutput", "^2 in dimension 2$", text((2, 3, *ones)))
        changes = {"stride": (3,) * self.dims}
        yield row("without ceilMode one less", changes, "gradOutput", "^1 in dimension 2$", text(self.grad_shape))
        changes = {"kernelSize": (*[2] * (self.dims - 1), 5)}
        yield row("window larger than self", changes, "self", f"a size that holds a window of 5 in dimension {last}", text(self.shape))
        if self.dims == 2:
            for shape in ((1, 65536, 1, 1), (65536, 1, 1)):
                changes = {"kernelSize": (1,), "stride": None, **every_tensor(self.good, shape=shape, strides=(0,) * len(shape))}
                yield row(f"channels of {shape}", changes, "self", "^at most 65535 channels$", text(shape))

    def attributes(self) -> Rows:
        for name, least in (("kernelSize", 1), ("stride", 1), ("padding", 0)):
            yield from self.lengths_and_least(name, (1, self.dims), least)
        for d in range(self.dims):
            beyond = tuple(2 * (i == d) for i in range(self.dims))
            yield row(f"padding {beyond}", {"padding": beyond}, "padding", "half of kernelSize 2", "^2$")
        odd = {"kernelSize": (3,), "padding": (2,)}
        yield row("padding over half of an odd window", odd, "padding", "half of kernelSize 3", "^2$")
        if self.dims == 2:
            for v in (-1, 4, 127, -128):
                yield row(f"cubeMathType {v}", {"cubeMathType": v}, "cubeMathType", r"0\.\.3", f"^{v}$")
            for v in (-256, 256, 2**62, -(2**62)):
                yield row(f"divisorOverride {v}", {"divisorOverride": v}, "divisorOverride", r"\[-255, 255\]", f"^{v}$")


class AdaptiveAvgPool(Contract):
    """Average pooling to a given size, which may be any but 0."""

    source = None
    planes_with_elements = False
    # Size and pooled size of the last two dimensions.
    CALLS = (
        ((4, 6), (1, 1)), ((4, 6), (2, 3)), ((5, 7), (3, 2)), ((7, 5), (6, 4)),
        ((3, 4), (3, 4)), ((3, 2), (5, 7)), ((1, 1), (3, 2)), ((6, 2), (4, 5)),
    )  # fmt: skip
    DEPTHS = ((2, 1), (4, 2), (3, 5))

    def __init__(self, dims: int) -> None:
        super().__init__(adaptive.entry_point(dims), dims, Definition(dims, adaptive.terms).of_list)

    def calls(self) -> Iterator[tuple[Any, ...]]:
        for i, (size, out) in enumerate(self.CALLS):
            depth = self.DEPTHS[i % 3]
            yield (size, out) if self.dims == 2 else ((depth[0], *size), (depth[1], *out))

    def call(self, *numbers: Any, dtype: DType = DType.FLOAT, lead: tuple[int, ...] = (2, 3)) -> tuple[dict[str, Any], list[Any]]:
        size, out = numbers
        arguments, values = self.tensors_but(lead, out, size, dtype)
        return arguments, self.gradient(values, (*lead, *out), (*lead, *size))

    def many_ones(self) -> tuple[Any, ...]:
        return self.axes(last=1), self.axes(last=2100)

    def own_shapes(self) -> Rows:
        for d in range(2, self.dims + 2):
            shape = (*self.grad_shape[:d], 0, *self.grad_shape[d + 1 :])
            expected = "at least one element for each plane of self"
            yield row(f"gradOutput {shape}", {"gradOutput": {"shape": shape}}, "gradOutput", expected, text(shape))
