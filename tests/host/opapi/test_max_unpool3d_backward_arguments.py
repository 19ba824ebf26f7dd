"""The arguments that aclnnMaxUnpool3dBackward refuses, each by its own message."""

import pytest

from support.contract_rows import VIOLATION, difference_rows, dtype_rows, null_rows, private_format_rows, row, storage_rows, text
from support.dtypes import DType, Format
from support.operators import GOOD, ROWS
from support.status import NULL
from support.tensors import but, every_tensor

MAX_UNPOOL3D = ROWS["max_unpool3d"].entry_point.name
CALL = GOOD[MAX_UNPOOL3D]
VALUES = ("gradOutput", "self", "out")
ARRAYS = ("outputSize", "stride", "padding")
LISTED = (
    DType.FLOAT, DType.FLOAT16, DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.DOUBLE,
)  # fmt: skip


def indexed(**shapes):
    """Return changes of shapes; the indices lose their values, which would not fit."""
    return {name: {"shape": shape, "values": None} for name, shape in shapes.items()}


def all_but_gradient(shape):
    return indexed(self=shape, indices=shape, out=shape)


SHAPES = [
    *(
        row(
            f"all of rank {len(shape)}",
            indexed(gradOutput=shape) | all_but_gradient(shape),
            "gradOutput",
            "^4 to 5 dimensions$",
            text(shape),
        )
        for shape in [(), (4,), (4, 4), (2, 2, 2), (1, 1, 2, 3, 4, 4)]
    ),
    *(
        row(f"{name} of another rank", indexed(**{name: shape}), reported, f"the {rank} dimensions of self", text(got))
        for name, shape, reported, rank, got in [
            ("gradOutput", (3, 4, 4, 2), "gradOutput", 5, (3, 4, 4, 2)),
            ("self", (3, 2, 2, 1), "gradOutput", 4, (2, 3, 4, 4, 2)),
            ("indices", (3, 2, 2, 1), "indices", 5, (3, 2, 2, 1)),
            ("out", (3, 2, 2, 1), "out", 5, (3, 2, 2, 1)),
        ]
    ),
    *(
        row(f"{name} {shape}", indexed(**{name: shape}), name, r"the shape of self, \{2, 3, 2, 2, 1\}", text(shape))
        for name in ("indices", "out")
        for shape in [(1, 3, 2, 2, 1), (2, 1, 2, 2, 1), (2, 3, 1, 2, 1), (2, 3, 2, 3, 1), (2, 3, 2, 2, 2)]
    ),
    *(
        row(f"gradOutput {shape}", indexed(gradOutput=shape), "gradOutput", f"^{size} in dimension {d}, as in {source}$", text(shape))
        for d, (size, shape, source) in enumerate(
            [
                (2, (1, 3, 4, 4, 2), r"self \{2, 3, 2, 2, 1\}"),
                (3, (2, 1, 4, 4, 2), r"self \{2, 3, 2, 2, 1\}"),
                (4, (2, 3, 3, 4, 2), r"outputSize \{4, 4, 2\}"),
                (4, (2, 3, 4, 5, 2), r"outputSize \{4, 4, 2\}"),
                (2, (2, 3, 4, 4, 1), r"outputSize \{4, 4, 2\}"),
            ]
        )
    ),
    row(
        "gradOutput of rank 4 with another N",
        indexed(gradOutput=(1, 4, 4, 2)) | all_but_gradient((3, 2, 2, 1)),
        "gradOutput",
        r"^3 in dimension 0, as in self \{3, 2, 2, 1\}$",
        text((1, 4, 4, 2)),
    ),
    row(
        "negative dim of gradOutput",
        indexed(gradOutput=(2, 3, 4, -4, 2)),
        "gradOutput",
        "no negative dimension",
        text((2, 3, 4, -4, 2)),
    ),
    row(
        "negative dim of the others",
        all_but_gradient((2, 3, -2, 2, 1)),
        "self",
        "no negative dimension",
        text((2, 3, -2, 2, 1)),
    ),
    *(
        row(f"self {shape}", all_but_gradient(shape), "self", "no dimension of size 0 but N", text(shape))
        for shape in [(2, 0, 2, 2, 1), (2, 3, 0, 2, 1), (2, 3, 2, 0, 1), (2, 3, 2, 2, 0)]
    ),
    *(
        row(f"gradOutput {shape}", indexed(gradOutput=shape), "gradOutput", "no dimension of size 0 but N", text(shape))
        for shape in [(2, 0, 4, 4, 2), (2, 3, 0, 4, 2), (2, 3, 4, 0, 2), (2, 3, 4, 4, 0)]
    ),
    *(
        row(
            f"self of rank 4 {shape}",
            indexed(gradOutput=(1, 4, 4, 2)) | all_but_gradient(shape),
            "self",
            "no dimension of size 0 but N",
            text(shape),
        )
        for shape in [(1, 0, 2, 1), (1, 2, 0, 1), (1, 2, 2, 0)]
    ),
    *(
        row(
            f"out with strides {strides}",
            {"out": {"strides": strides}},
            "out",
            "^contiguous strides$",
            f"^{text(strides)} for shape {text((2, 3, 2, 2, 1))}$",
        )
        for strides in [(24, 8, 4, 2, 2), (12, 4, 1, 2, 1), (1, 2, 6, 12, 24), (4, 8, 2, 1, 1), (12, 4, 2, 0, 1)]
    ),
]

ATTRIBUTES = [
    *(row(f"{name} of length {n}", {name: (1,) * n}, name, "^3 values$", f"^{n}$") for name in ARRAYS for n in (0, 1, 2, 4)),
    *(
        row(f"{name} {values}", {name: values}, name, "values of at least 1", f"^{min(values)}$")
        for name in ("outputSize", "stride")
        for values in [(0, 4, 2), (4, 0, 2), (4, 4, 0), (-1, 4, 2), (4, 4, -2)]
    ),
    row("outputSize beyond 32 bits", {"outputSize": (2**31, 4, 2)}, "outputSize", "below 2\\^31", f"^{2**31}$"),
    row(
        "outputSize of another order",
        {"outputSize": (2, 4, 4)},
        "gradOutput",
        r"^2 in dimension 2, as in outputSize \{2, 4, 4\}$",
        text((2, 3, 4, 4, 2)),
    ),
]


@pytest.mark.parametrize(
    VIOLATION,
    [
        *null_rows("gradOutput", "self", "indices", "outputSize", "stride", "padding", "out"),
        *dtype_rows(VALUES, LISTED, reference="self"),
        *difference_rows(MAX_UNPOOL3D, VALUES, "self", dtype=DType.INT8),
        *(
            row(f"indices {dtype.name}", {"indices": {"dtype": dtype, "values": None}}, "indices", "INT64", dtype.name)
            for dtype in DType
            if dtype != DType.INT64
        ),
        *private_format_rows(MAX_UNPOOL3D),
        *SHAPES,
        *ATTRIBUTES,
        *storage_rows(MAX_UNPOOL3D),
    ],
)
def test_refuses(aclnn, changes, code, parameter, expected, got):
    aclnn.refuses(MAX_UNPOOL3D, but(CALL, **changes), code, parameter, expected, got)


@pytest.mark.parametrize("null", ["gradOutput", "self", "indices", "outputSize", "stride", "padding", "out"])
def test_null_is_reported_before_anything_else(aclnn, null):
    wrong = every_tensor(CALL, dtype=DType.BOOL, shape=(4,), format=Format.NC1HWC0, values=None)
    wrong |= dict.fromkeys(ARRAYS, ())
    aclnn.refuses(MAX_UNPOOL3D, but(CALL, **(wrong | {null: None})), NULL, null, "a value", "null")
