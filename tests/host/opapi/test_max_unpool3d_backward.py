"""aclnnMaxUnpool3dBackward against its contract."""

import math
import random

import pytest

from support.contract_rows import text
from support.dtypes import PRIVATE_FORMATS, DType, Format, numbers, pack
from support.operators import GOOD, ROWS
from support.status import INVALID
from support.tensors import Tensor, but, every_tensor

MAX_UNPOOL3D = ROWS["max_unpool3d"].entry_point.name
max_unpool3d_backward = ROWS["max_unpool3d"].gradient
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


def unpooling_call(lead=(2, 3), size=(2, 3, 2), output_size=(4, 5, 3), *, dtype=DType.FLOAT, indices=None):
    """Return the arguments and the exact result."""
    shape, grad_shape = (*lead, *size), (*lead, *output_size)
    grad = numbers(math.prod(grad_shape), dtype)
    if indices is None:
        source = random.Random(1)
        indices = [source.randrange(math.prod(output_size)) for _ in range(math.prod(shape))]
    arguments = {
        "gradOutput": Tensor(grad_shape, dtype, grad),
        "self": Tensor(shape, dtype),
        "indices": Tensor(shape, DType.INT64, indices),
        "outputSize": output_size,
        "stride": (2, 1, 3),
        "padding": (0, 1, -1),
        "out": Tensor(shape, dtype),
    }
    return arguments, max_unpool3d_backward(grad, grad_shape, indices, shape)


def assert_exact(elements, expected, dtype):
    assert elements == [pack(dtype, value) for value in expected]


@pytest.mark.parametrize("lead", [(2, 3), (5,)], ids=["rank 5", "rank 4"])
@pytest.mark.parametrize("dtype", LISTED, ids=lambda dtype: dtype.name)
def test_every_dtype_and_rank(aclnn, stream, dtype, lead):
    arguments, expected = unpooling_call(lead, dtype=dtype)
    assert_exact(aclnn.run(MAX_UNPOOL3D, arguments, stream), expected, dtype)


def test_moves_the_bits_of_every_float(aclnn, stream):
    values = [float("nan"), float("inf"), -float("inf"), -0.0, 1e-45, -3.4e38]
    arguments, _ = unpooling_call((1, 1), (1, 2, 3), (1, 2, 3), indices=[5, 4, 3, 2, 1, 0])
    arguments = but(arguments, gradOutput={"values": values})
    assert aclnn.run(MAX_UNPOOL3D, arguments, stream) == [pack(DType.FLOAT, value) for value in reversed(values)]


def test_first_and_last_index_of_the_plane_are_inside(aclnn, stream):
    arguments, expected = unpooling_call((2, 2), (1, 1, 2), (2, 2, 3), indices=[0, 11] * 4)
    assert_exact(aclnn.run(MAX_UNPOOL3D, arguments, stream), expected, DType.FLOAT)


def test_plane_may_be_smaller_than_the_result(aclnn, stream):
    arguments, expected = unpooling_call((1, 2), (3, 3, 3), (1, 2, 1))
    assert_exact(aclnn.run(MAX_UNPOOL3D, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize("format", [f for f in Format if f not in PRIVATE_FORMATS], ids=lambda format: format.name)
def test_every_public_format(aclnn, stream, format):
    arguments, expected = unpooling_call()
    arguments = but(arguments, **every_tensor(arguments, format=format))
    assert_exact(aclnn.run(MAX_UNPOOL3D, arguments, stream), expected, DType.FLOAT)


LAYOUTS = {
    "offset": {"offset": 5},
    "channels last": {"order": (0, 2, 3, 4, 1), "offset": 3},
    "transposed with gaps": {"order": (3, 1, 4, 0, 2), "step": 2, "offset": 2},
}


@pytest.mark.parametrize("indices", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("gradient", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", [DType.INT8, DType.FLOAT16, DType.FLOAT, DType.DOUBLE], ids=lambda dtype: dtype.name)
def test_strided_tensors(aclnn, stream, dtype, gradient, indices):
    arguments, expected = unpooling_call(dtype=dtype)
    arguments["gradOutput"] = arguments["gradOutput"].laid_out(**gradient)
    arguments["indices"] = arguments["indices"].laid_out(**indices)
    arguments["out"] = arguments["out"].laid_out(offset=7)
    assert_exact(aclnn.run(MAX_UNPOOL3D, arguments, stream), expected, dtype)


def test_strides_of_dimensions_of_size_1_do_not_matter(aclnn, stream):
    arguments, expected = unpooling_call((1, 3), (2, 1, 2))
    arguments = but(arguments, out={"strides": (77, 4, 2, 99, 1)})
    assert_exact(aclnn.run(MAX_UNPOOL3D, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize("lead", [(0, 3), (0,)], ids=["rank 5", "rank 4"])
@pytest.mark.parametrize("null_data", [False, True], ids=["with memory", "without memory"])
def test_empty_batch_needs_no_workspace_and_writes_nothing(aclnn, stream, lead, null_data):
    arguments, _ = unpooling_call(lead)
    aclnn.writes_nothing(MAX_UNPOOL3D, but(arguments, **every_tensor(arguments, null_data=null_data)), stream)


def test_empty_batch_is_still_checked(aclnn):
    arguments, _ = unpooling_call((0, 3))
    wrong = but(arguments, outputSize=(4, 5, 4))
    aclnn.refuses(MAX_UNPOOL3D, wrong, INVALID, "gradOutput", r"^4 in dimension 4, as in outputSize \{4, 5, 4\}$", text((0, 3, 4, 5, 3)))


# One plane holds 4 * 5 * 3 = 60 elements. Each row: what is put where, and what the message tells of.
OUTSIDE = {
    "just too large": ({17: 60}, 60, (0, 1, 0, 2, 1)),
    "negative": ({0: -1}, -1, (0, 0, 0, 0, 0)),
    "last element": ({71: 61}, 61, (1, 2, 1, 2, 1)),
    "in the next plane's memory": ({4: 119}, 119, (0, 0, 0, 2, 0)),
    "largest and smallest": ({23: 2**63 - 1, 40: -(2**63)}, 2**63 - 1, (0, 1, 1, 2, 1)),
    "several": ({70: 60, 36: -5, 37: 1000, 50: -1}, -5, (1, 0, 0, 0, 0)),
}


@pytest.mark.parametrize(("outside", "index", "position"), OUTSIDE.values(), ids=OUTSIDE.keys())
@pytest.mark.parametrize("dtype", LISTED, ids=lambda dtype: dtype.name)
def test_index_outside_gives_zero_and_one_asynchronous_error(aclnn, stream, dtype, outside, index, position):
    arguments, _ = unpooling_call()
    indices = [outside.get(i, value) for i, value in enumerate(arguments["indices"].values)]
    arguments, expected = unpooling_call(dtype=dtype, indices=indices)
    with aclnn.call(MAX_UNPOOL3D, arguments) as call:
        assert call.phase1() == 0, aclnn.message()
        assert call.phase2(stream) == 0, aclnn.message()
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 507015
        where = "{" + ", ".join(map(str, position)) + "}"
        assert aclnn.message() == (f"aclnnMaxUnpool3dBackward: indices: expected values in [0, 60), got {index} at position {where}")
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 0
        assert_exact(call.output().elements(), expected, dtype)
        assert call.output().is_untouched_around_its_elements()
        assert all(operand.is_untouched() for operand in call.operands() if operand is not call.output())
    good, expected = unpooling_call(dtype=dtype)
    assert_exact(aclnn.run(MAX_UNPOOL3D, good, stream), expected, dtype)


def test_position_of_an_index_outside_has_the_rank_of_the_argument(aclnn, stream):
    arguments, _ = unpooling_call((2,), (1, 2, 2), (2, 2, 2), indices=[0, 1, 2, 3, 4, 5, 6, 8])
    with aclnn.call(MAX_UNPOOL3D, arguments) as call:
        assert call.phase1() == 0, aclnn.message()
        assert call.phase2(stream) == 0, aclnn.message()
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 507015
        assert aclnn.message().endswith("expected values in [0, 8), got 8 at position {1, 0, 1, 1}")


def test_strided_gradient_is_not_read_outside_its_plane(aclnn, stream):
    arguments, _ = unpooling_call()
    indices = [60 + i if i % 2 else i % 60 for i in range(72)]
    arguments, expected = unpooling_call(indices=indices)
    arguments["gradOutput"] = arguments["gradOutput"].laid_out(order=(3, 1, 4, 0, 2), step=2, offset=2)
    with aclnn.call(MAX_UNPOOL3D, arguments) as call:
        assert call.phase1() == 0, aclnn.message()
        assert call.phase2(stream) == 0, aclnn.message()
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 507015
        assert "got 61 at position {0, 0, 0, 0, 1}" in aclnn.message()
        assert_exact(call.output().elements(), expected, DType.FLOAT)


def test_failure_is_first_told_by_the_synchronisation(aclnn, stream):
    arguments, _ = unpooling_call((1, 1), (1, 1, 1), (1, 1, 1), indices=[1])
    with aclnn.call(MAX_UNPOOL3D, arguments) as call:
        assert call.phase1() == 0
        assert call.phase2(stream) == 0
        assert aclnn.message() == ""
        assert aclnn.acl.aclrtPeekAtLastError(0) == 0
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 507015
