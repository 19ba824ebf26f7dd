"""aclnnReflectionPad2dBackward against its contract."""

from functools import partial

import pytest

from support.comparison import assert_close
from support.contract_rows import VIOLATION, difference_rows, dtype_rows, null_rows, private_format_rows, row, storage_rows
from support.dtypes import DType, Format, pack
from support.families.padding import exact_call
from support.operators import GOOD, ROWS
from support.padding_rows import PADDING_ROWS, SHAPE_ROWS
from support.tensors import Tensor, but

REFLECTION_PAD2D = ROWS["reflection_pad2d"].entry_point.name
reflection_pad2d_backward = ROWS["reflection_pad2d"].gradient
CALL = GOOD[REFLECTION_PAD2D]
TENSORS = ("gradOutput", "self", "gradInput")
LISTED = (DType.FLOAT16, DType.FLOAT, DType.DOUBLE, DType.COMPLEX64, DType.COMPLEX128, DType.BF16)

LIMITS = [
    row(
        f"padding {padding} of a plane of 4x3",
        {"padding": padding, "gradOutput": {"shape": shape}},
        "padding",
        f"^values below self's size of {size} in dimension {d}$",
        f"^{size}$",
    )
    for shape, d, size, paddings in [
        ((2, 3, 4, 6), 3, 3, ((3, 0, 0, 0), (0, 3, 0, 0))),
        ((2, 3, 8, 3), 2, 4, ((0, 0, 4, 0), (0, 0, 0, 4))),
    ]
    for padding in paddings
]


@pytest.mark.parametrize(
    VIOLATION,
    [
        *null_rows(*TENSORS, "padding"),
        *dtype_rows(TENSORS, LISTED, reference="self"),
        *difference_rows(REFLECTION_PAD2D, TENSORS, "self", dtype=DType.COMPLEX64, format=Format.ND),
        *private_format_rows(REFLECTION_PAD2D, reference="self"),
        *SHAPE_ROWS,
        *PADDING_ROWS,
        *LIMITS,
        *storage_rows(REFLECTION_PAD2D),
    ],
)
def test_refuses(aclnn, changes, code, parameter, expected, got):
    aclnn.refuses(REFLECTION_PAD2D, but(CALL, **changes), code, parameter, expected, got)


def test_example_gives_its_documented_values(aclnn, stream):
    arguments = {
        "gradOutput": Tensor((1, 1, 7), values=[1] * 7),
        "self": Tensor((1, 1, 5)),
        "padding": (1, 1, 0, 0),
        "gradInput": Tensor((1, 1, 5)),
    }
    expected = [pack(DType.FLOAT, value) for value in (1, 2, 1, 2, 1)]
    assert aclnn.run(REFLECTION_PAD2D, arguments, stream) == expected


padding_call = partial(exact_call, reflection_pad2d_backward)


@pytest.mark.parametrize(
    ("size", "padding"),
    [
        ((4, 3), (0, 0, 0, 0)),
        ((4, 3), (1, 2, 3, 0)),
        ((3, 3), (2, 2, 2, 2)),
        ((1, 1), (0, 0, 0, 0)),
        ((1, 4), (3, 1, 0, 0)),
        ((2, 5), (4, 0, 1, 1)),
        ((5, 6), (-1, -2, -1, 0)),
        ((5, 6), (2, -3, -4, 1)),
        ((3, 3), (-3, 2, 0, 0)),
        ((3, 3), (2, -4, 2, -3)),
    ],
    ids=str,
)
def test_values(aclnn, stream, size, padding):
    arguments, expected = padding_call(size, padding)
    assert_close(aclnn.run(REFLECTION_PAD2D, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize(("dtype", "large"), [(DType.BF16, 256), (DType.FLOAT16, 2048)], ids=["BF16", "FLOAT16"])
def test_half_types_are_summed_in_float32(aclnn, stream, dtype, large):
    """In the half type itself, adding ones to the large number would leave it as it is."""
    arguments, _ = padding_call((1, 3), (1, 1, 0, 0), dtype=dtype, lead=(1, 1))
    arguments = but(arguments, gradOutput={"values": [large, 0, 1, 0, 1]})
    assert aclnn.run(REFLECTION_PAD2D, arguments, stream) == [pack(dtype, value) for value in (0, large + 2, 0)]
