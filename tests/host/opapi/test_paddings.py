"""What the entry points of every padding's gradient have in common, against their contract."""

from functools import partial

import pytest

from support.comparison import assert_close
from support.contract_rows import text
from support.dtypes import PRIVATE_FORMATS, DType, Format, pack
from support.families.padding import exact_call
from support.operators import ROWS
from support.status import INVALID, NULL
from support.tensors import LAYOUTS, Tensor, but, every_tensor

TENSORS = ("gradOutput", "self", "gradInput")
LISTED = (DType.FLOAT16, DType.FLOAT, DType.DOUBLE, DType.COMPLEX64, DType.COMPLEX128, DType.BF16)

pytestmark = pytest.mark.parametrize("operator", [ROWS["replication_pad2d"], ROWS["reflection_pad2d"]], ids=lambda row: row.name)


@pytest.fixture
def padding_call(operator):
    return partial(exact_call, operator.gradient)


@pytest.mark.parametrize("null", [*TENSORS, "padding"])
def test_null_is_reported_before_anything_else(aclnn, operator, null):
    call = operator.entry_point.good
    wrong = every_tensor(call, dtype=DType.BOOL, shape=(4,), format=Format.NC1HWC0) | {"padding": ()}
    aclnn.refuses(operator.entry_point.name, but(call, **(wrong | {null: None})), NULL, null, "a value", "null")


@pytest.mark.parametrize("lead", [(2, 3), (5,)], ids=["rank 4", "rank 3"])
@pytest.mark.parametrize("dtype", LISTED, ids=lambda dtype: dtype.name)
def test_every_dtype_and_rank(aclnn, stream, operator, padding_call, dtype, lead):
    arguments, expected = padding_call((4, 3), (2, 1, 1, 3), dtype=dtype, lead=lead)
    assert_close(aclnn.run(operator.entry_point.name, arguments, stream), expected, dtype)


@pytest.mark.parametrize("format", [f for f in Format if f not in PRIVATE_FORMATS], ids=lambda format: format.name)
def test_every_public_format(aclnn, stream, operator, padding_call, format):
    arguments, expected = padding_call((4, 3), (2, 1, 1, 3))
    arguments = but(arguments, **every_tensor(arguments, format=format))
    assert_close(aclnn.run(operator.entry_point.name, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize("output", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("gradient", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", [DType.BF16, DType.DOUBLE, DType.COMPLEX64], ids=lambda dtype: dtype.name)
def test_strided_tensors(aclnn, stream, operator, padding_call, dtype, gradient, output):
    arguments, expected = padding_call((4, 3), (2, 1, 1, 3), dtype=dtype)
    arguments["gradOutput"] = arguments["gradOutput"].laid_out(**gradient)
    arguments["gradInput"] = arguments["gradInput"].laid_out(**output)
    assert_close(aclnn.run(operator.entry_point.name, arguments, stream), expected, dtype)


def test_expanded_gradient(aclnn, stream, operator, padding_call):
    arguments, expected = padding_call((2, 2), (1, 1, 1, 1))
    arguments["gradOutput"] = Tensor((2, 3, 4, 4), values=[1.5] * 96, strides=(0, 0, 0, 0), storage=(1,))
    assert aclnn.run(operator.entry_point.name, arguments, stream) == [pack(DType.FLOAT, 6.0)] * len(expected)


@pytest.mark.parametrize("null_data", [False, True], ids=["with memory", "without memory"])
def test_empty_batch_needs_no_workspace_and_writes_nothing(aclnn, stream, operator, padding_call, null_data):
    arguments, _ = padding_call((4, 3), (2, 1, 1, 3), lead=(0, 3))
    aclnn.writes_nothing(operator.entry_point.name, but(arguments, **every_tensor(arguments, null_data=null_data)), stream)


def test_empty_batch_is_still_checked(aclnn, operator, padding_call):
    arguments, _ = padding_call((4, 3), (2, 1, 1, 3), lead=(0, 3))
    wrong = but(arguments, gradOutput={"shape": (0, 3, 9, 6), "values": None})
    aclnn.refuses(operator.entry_point.name, wrong, INVALID, "gradOutput", "^8 in dimension 2$", text((0, 3, 9, 6)))
