"""aclnnReplicationPad2dBackward against its contract."""

from functools import partial

import pytest

from support.comparison import assert_close
from support.contract_rows import VIOLATION, difference_rows, dtype_rows, null_rows, private_format_rows, storage_rows
from support.dtypes import DType, Format, pack
from support.families.padding import exact_call
from support.operators import GOOD, ROWS
from support.padding_rows import PADDING_ROWS, SHAPE_ROWS
from support.tensors import Tensor, but

REPLICATION_PAD2D = ROWS["replication_pad2d"].entry_point.name
replication_pad2d_backward = ROWS["replication_pad2d"].gradient
CALL = GOOD[REPLICATION_PAD2D]
TENSORS = ("gradOutput", "self", "gradInput")
LISTED = (DType.FLOAT16, DType.FLOAT, DType.DOUBLE, DType.COMPLEX64, DType.COMPLEX128, DType.BF16)


@pytest.mark.parametrize(
    VIOLATION,
    [
        *null_rows(*TENSORS, "padding"),
        *dtype_rows(TENSORS, LISTED, reference="self"),
        *difference_rows(REPLICATION_PAD2D, TENSORS, "self", dtype=DType.COMPLEX64, format=Format.ND),
        *private_format_rows(REPLICATION_PAD2D, reference="self"),
        *SHAPE_ROWS,
        *PADDING_ROWS,
        *storage_rows(REPLICATION_PAD2D),
    ],
)
def test_refuses(aclnn, changes, code, parameter, expected, got):
    aclnn.refuses(REPLICATION_PAD2D, but(CALL, **changes), code, parameter, expected, got)


def test_example_gives_its_documented_values(aclnn, stream):
    arguments = {
        "gradOutput": Tensor((1, 1, 7), values=[1] * 7),
        "self": Tensor((1, 1, 5)),
        "padding": (1, 1, 0, 0),
        "gradInput": Tensor((1, 1, 5)),
    }
    expected = [pack(DType.FLOAT, value) for value in (2, 1, 1, 1, 2)]
    assert aclnn.run(REPLICATION_PAD2D, arguments, stream) == expected


padding_call = partial(exact_call, replication_pad2d_backward)


@pytest.mark.parametrize(
    ("size", "padding"),
    [
        ((4, 3), (0, 0, 0, 0)),
        ((4, 3), (1, 2, 3, 0)),
        ((3, 3), (4, 4, 4, 4)),
        ((1, 1), (2, 1, 0, 3)),
        ((1, 4), (0, 1, 2, 2)),
        ((5, 6), (-1, -2, -1, 0)),
        ((5, 6), (2, -3, -4, 1)),
        ((3, 3), (-5, 4, 0, 0)),
        ((3, 3), (4, -5, 5, -4)),
    ],
    ids=str,
)
def test_values(aclnn, stream, size, padding):
    arguments, expected = padding_call(size, padding)
    assert_close(aclnn.run(REPLICATION_PAD2D, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize(("dtype", "count"), [(DType.BF16, 300), (DType.FLOAT16, 2100)], ids=["BF16", "FLOAT16"])
def test_half_types_are_summed_in_float32(aclnn, stream, dtype, count):
    """In the half type itself, a sum of ones would stop at 256 or 2048."""
    arguments, _ = padding_call((1, 1), (count - 1, 0, 0, 0), dtype=dtype, lead=(1, 1))
    arguments = but(arguments, gradOutput={"values": [1.0] * count})
    assert aclnn.run(REPLICATION_PAD2D, arguments, stream) == [pack(dtype, count)]
