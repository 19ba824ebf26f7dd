"""Rows of the contract that the gradients of the paddings of images have in common: changes to a good call."""

from typing import Any

from support.contract_rows import row, text
from support.dtypes import Format
from support.operators import ROWS
from support.tensors import every_tensor

GOOD = ROWS["replication_pad2d"].entry_point.good


def _all_shapes(grad_output: tuple[int, ...], shape: tuple[int, ...]) -> dict[str, Any]:
    return {"gradOutput": {"shape": grad_output}, "self": {"shape": shape}, "gradInput": {"shape": shape}}


SHAPE_ROWS = [
    *(
        row(
            f"all of rank {len(shape)}",
            every_tensor(GOOD, shape=shape, format=Format.ND),
            "gradOutput",
            "^3 to 4 dimensions$",
            text(shape),
        )
        for shape in [(), (4,), (4, 4), (1, 2, 3, 4, 4)]
    ),
    row(
        "gradOutput of another rank",
        {"gradOutput": {"shape": (3, 7, 6), "format": Format.NCHW}},
        "gradOutput",
        "the 4 dimensions of self",
        text((3, 7, 6)),
    ),
    row(
        "gradInput of another rank",
        {"gradInput": {"shape": (3, 4, 3), "format": Format.NCHW}},
        "gradInput",
        "the 4 dimensions of self",
        text((3, 4, 3)),
    ),
    *(
        row(
            f"gradInput {shape}",
            {"gradInput": {"shape": shape}},
            "gradInput",
            r"the shape of self, \{2, 3, 4, 3\}",
            text(shape),
        )
        for shape in [(1, 3, 4, 3), (2, 2, 4, 3), (2, 3, 5, 3), (2, 3, 4, 4)]
    ),
    *(
        row(
            f"gradOutput {shape}",
            {"gradOutput": {"shape": shape}},
            "gradOutput",
            f"^{size} in dimension {d}$",
            text(shape),
        )
        for d, (size, shape) in enumerate([(2, (1, 3, 7, 6)), (3, (2, 1, 7, 6)), (7, (2, 3, 6, 6)), (6, (2, 3, 7, 7))])
    ),
    row(
        "negative dim of gradOutput",
        {"gradOutput": {"shape": (2, 3, -7, 6)}},
        "gradOutput",
        "no negative dimension",
        text((2, 3, -7, 6)),
    ),
    row(
        "negative dim of self",
        _all_shapes((-2, 3, 7, 6), (-2, 3, 4, 3)),
        "gradOutput",
        "no negative dimension",
        text((-2, 3, 7, 6)),
    ),
    *(
        row(f"without {axis}", _all_shapes(out, shape), reported, "no dimension of size 0 but N", text(got))
        for axis, out, shape, reported, got in [
            ("C", (2, 0, 7, 6), (2, 0, 4, 3), "gradOutput", (2, 0, 7, 6)),
            ("H", (2, 3, 3, 6), (2, 3, 0, 3), "self", (2, 3, 0, 3)),
            ("W", (2, 3, 7, 3), (2, 3, 4, 0), "self", (2, 3, 4, 0)),
            ("C of rank 3", (0, 7, 6), (0, 4, 3), "gradOutput", (0, 7, 6)),
        ]
    ),
    row(
        "cropped to nothing",
        {"padding": (-1, -2, 0, 0), "gradOutput": {"shape": (2, 3, 4, 0)}},
        "gradOutput",
        "no dimension of size 0 but N",
        text((2, 3, 4, 0)),
    ),
    row(
        "cropped to less than nothing",
        {"padding": (-1, -3, 0, 0), "gradOutput": {"shape": (2, 3, 4, 1)}},
        "gradOutput",
        "^-1 in dimension 3$",
        text((2, 3, 4, 1)),
    ),
]

PADDING_ROWS = [
    *(row(f"padding of length {n}", {"padding": (1,) * n}, "padding", "^4 values$", f"^{n}$") for n in (0, 1, 2, 3, 5)),
    *(row(f"padding {v}", {"padding": (0, v, 0, 0)}, "padding", "values of at least", f"^{v}$") for v in (2**31, -(2**31) - 1, 2**62)),
    row(
        "left and right exchanged for top and bottom",
        {"padding": (2, 0, 1, 2), "gradOutput": {"shape": (2, 3, 6, 6)}},
        "gradOutput",
        "^7 in dimension 2$",
        text((2, 3, 6, 6)),
    ),
]
