"""The contracts of the paddings' gradients."""

from collections.abc import Iterator, Sequence
from typing import Any

from support.contract_rows import row, text
from support.contracts.planes import Contract, Rows
from support.dtypes import DType
from support.families import padding

# Planes of the last two dimensions with their paddings, by family.
ANY = (((4, 3), (0, 0, 0, 0)), ((4, 3), (1, 2, 3, 0)), ((1, 1), (0, 0, 0, 0)))
CROPS = (((5, 6), (-1, -2, -1, 0)), ((5, 6), (2, -3, -4, 1)))
PADDED = {
    "replication": (((3, 3), (4, 4, 4, 4)), ((1, 1), (2, 1, 0, 3)), ((3, 3), (-5, 4, 0, 0)), ((3, 3), (4, -5, 5, -4)), *CROPS),
    "reflection": (((3, 3), (2, 2, 2, 2)), ((2, 5), (4, 0, 1, 1)), ((3, 3), (-3, 2, 0, 0)), ((3, 3), (2, -4, 2, -3)), *CROPS),
    "circular": (((3, 3), (3, 3, 3, 3)), ((2, 5), (5, 0, 1, 2)), ((1, 1), (1, 1, 0, 1))),
}


class Pad(Contract):
    """Padding with elements of the plane."""

    DEPTH = (3, (1, 2))

    def __init__(self, family: str, dims: int) -> None:
        super().__init__(padding.entry_point(family, dims), dims, padding.definition_of(family, dims).of_list)
        self.family = family

    def calls(self) -> Iterator[tuple[Any, ...]]:
        depth, around = self.DEPTH
        for plane, pads in (*ANY, *PADDED[self.family]):
            yield (depth, *plane)[-self.dims :], (*pads, *around)[: 2 * self.dims]

    def call(self, *numbers: Any, dtype: DType = DType.FLOAT, lead: tuple[int, ...] = (2, 3)) -> tuple[dict[str, Any], list[Any]]:
        return padding.exact_call(self.gradient, *numbers, dtype=dtype, lead=lead)

    def many_ones(self) -> tuple[Any, ...]:
        plane, pads = {"replication": (1, (2099, 0)), "reflection": (512, (511, 511)), "circular": (1, (1, 1))}[self.family]
        return self.axes(last=plane), (*pads, *[0] * (2 * self.dims - 2))

    def own_shapes(self) -> Rows:
        if self.family == "circular":
            return
        zeros = (0,) * (2 * self.dims - 2)
        front = (2, 3, *self.shape[2:-1])
        changes = {"padding": (-1, -2, *zeros), "gradOutput": {"shape": (*front, 0)}}
        yield row("cropped to nothing", changes, "gradOutput", "no dimension of size 0 but N", text((*front, 0)))
        changes = {"padding": (-1, -3, *zeros), "gradOutput": {"shape": (*front, 1)}}
        yield row("cropped to less than nothing", changes, "gradOutput", f"^-1 in dimension {self.dims + 1}$", text((*front, 1)))

    def attributes(self) -> Rows:
        least = -(2**31)
        for length in {0, 1, 2, 3, 4, 5, 6, 7} - {2 * self.dims}:
            yield row(f"padding of length {length}", {"padding": (1,) * length}, "padding", f"^{2 * self.dims} values$", f"^{length}$")
        pads = list(self.good["padding"])
        for place in range(2 * self.dims):
            size = self.shape[-1 - place // 2]
            dim = self.dims + 1 - place // 2
            for value in (2**31, least - 1, 2**62):
                yield self.padding_row(pads, place, value, "^values of at least -2147483648 and below 2")
            if self.family == "reflection":
                yield self.padding_row(pads, place, size, f"^values below self's size of {size} in dimension {dim}$")
            if self.family == "circular":
                yield self.padding_row(pads, place, size + 1, f"^values of at most self's size of {size} in dimension {dim}$")
                yield self.padding_row(pads, place, -1, "^values of at least 0$")
        if self.dims > 1 and self.family == "replication":
            other = (2, 0, 1, 2, *pads[4:])
            yield row("sides exchanged", {"padding": other}, "gradOutput", f"^5 in dimension {self.dims + 1}$", text(self.grad_shape))

    def padding_row(self, pads: Sequence[int], place: int, value: int, expected: str) -> Any:
        changed = (*pads[:place], value, *pads[place + 1 :])
        return row(f"padding {changed}", {"padding": changed}, "padding", expected, f"^{value}$")
