"""aclnnReflectionPad2dBackward against its contract."""

from functools import partial

import pytest

from support.comparison import assert_close
from support.contract_rows import VIOLATION, difference_rows, dtype_rows, null_rows, private_format_rows, row, storage_rows, text
from support.dtypes import PRIVATE_FORMATS, DType, Format, pack
from support.operators import GOOD
from support.operators.reflection_pad2d import NAME as REFLECTION_PAD2D
from support.operators.reflection_pad2d import gradient as reflection_pad2d_backward
from support.padding import exact_call
from support.padding_rows import PADDING_ROWS, SHAPE_ROWS
from support.status import INVALID, NULL
from support.tensors import LAYOUTS, Tensor, but, every_tensor

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


@pytest.mark.parametrize("null", [*TENSORS, "padding"])
def test_null_is_reported_before_anything_else(aclnn, null):
    wrong = every_tensor(CALL, dtype=DType.BOOL, shape=(4,), format=Format.NC1HWC0) | {"padding": ()}
    aclnn.refuses(REFLECTION_PAD2D, but(CALL, **(wrong | {null: None})), NULL, null, "a value", "null")


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


@pytest.mark.parametrize("lead", [(2, 3), (5,)], ids=["rank 4", "rank 3"])
@pytest.mark.parametrize("dtype", LISTED, ids=lambda dtype: dtype.name)
def test_every_dtype_and_rank(aclnn, stream, dtype, lead):
    arguments, expected = padding_call((4, 3), (2, 1, 1, 3), dtype=dtype, lead=lead)
    assert_close(aclnn.run(REFLECTION_PAD2D, arguments, stream), expected, dtype)


@pytest.mark.parametrize(("dtype", "large"), [(DType.BF16, 256), (DType.FLOAT16, 2048)], ids=["BF16", "FLOAT16"])
def test_half_types_are_summed_in_float32(aclnn, stream, dtype, large):
    """In the half type itself, adding ones to the large number would leave it as it is."""
    arguments, _ = padding_call((1, 3), (1, 1, 0, 0), dtype=dtype, lead=(1, 1))
    arguments = but(arguments, gradOutput={"values": [large, 0, 1, 0, 1]})
    assert aclnn.run(REFLECTION_PAD2D, arguments, stream) == [pack(dtype, value) for value in (0, large + 2, 0)]


@pytest.mark.parametrize("format", [f for f in Format if f not in PRIVATE_FORMATS], ids=lambda format: format.name)
def test_every_public_format(aclnn, stream, format):
    arguments, expected = padding_call((4, 3), (2, 1, 1, 3))
    arguments = but(arguments, **every_tensor(arguments, format=format))
    assert_close(aclnn.run(REFLECTION_PAD2D, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize("output", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("gradient", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", [DType.BF16, DType.DOUBLE, DType.COMPLEX64], ids=lambda dtype: dtype.name)
def test_strided_tensors(aclnn, stream, dtype, gradient, output):
    arguments, expected = padding_call((4, 3), (2, 1, 1, 3), dtype=dtype)
    arguments["gradOutput"] = arguments["gradOutput"].laid_out(**gradient)
    arguments["gradInput"] = arguments["gradInput"].laid_out(**output)
    assert_close(aclnn.run(REFLECTION_PAD2D, arguments, stream), expected, dtype)


def test_expanded_gradient(aclnn, stream):
    arguments, expected = padding_call((2, 2), (1, 1, 1, 1))
    arguments["gradOutput"] = Tensor((2, 3, 4, 4), values=[1.5] * 96, strides=(0, 0, 0, 0), storage=(1,))
    assert aclnn.run(REFLECTION_PAD2D, arguments, stream) == [pack(DType.FLOAT, 6.0)] * len(expected)


@pytest.mark.parametrize("null_data", [False, True], ids=["with memory", "without memory"])
def test_empty_batch_needs_no_workspace_and_writes_nothing(aclnn, stream, null_data):
    arguments, _ = padding_call((4, 3), (2, 1, 1, 3), lead=(0, 3))
    aclnn.writes_nothing(REFLECTION_PAD2D, but(arguments, **every_tensor(arguments, null_data=null_data)), stream)


def test_empty_batch_is_still_checked(aclnn):
    arguments, _ = padding_call((4, 3), (2, 1, 1, 3), lead=(0, 3))
    wrong = but(arguments, gradOutput={"shape": (0, 3, 9, 6), "values": None})
    aclnn.refuses(REFLECTION_PAD2D, wrong, INVALID, "gradOutput", "^8 in dimension 2$", text((0, 3, 9, 6)))
