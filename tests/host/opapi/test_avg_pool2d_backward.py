"""aclnnAvgPool2dBackward against its contract."""

import math

import pytest

from support.comparison import assert_close
from support.dtypes import DType, Format, numbers, pack
from support.operators import GOOD, ROWS
from support.tensors import LAYOUTS, Tensor, but, every_tensor

AVG_POOL2D = ROWS["avg_pool2d"].entry_point.name
avg_pool2d_backward = ROWS["avg_pool2d"].gradient
CALL = GOOD[AVG_POOL2D]
TENSORS = ("gradOutput", "self", "gradInput")
LISTED = (DType.FLOAT, DType.FLOAT16, DType.BF16)


def all_tensors(**fields):
    return every_tensor(CALL, **fields)


def both_inputs(shape):
    return {"self": {"shape": shape}, "gradInput": {"shape": shape}}


def test_seed_sample_gives_its_documented_values(aclnn, stream):
    arguments = but(
        CALL,
        gradOutput=Tensor((1, 16, 1, 1), values=[1.0] * 16),
        kernelSize=(4, 4),
        stride=(1, 1),
        **both_inputs((1, 16, 4, 4)),
    )
    assert aclnn.run(AVG_POOL2D, arguments, stream) == [pack(DType.FLOAT, 0.0625)] * 256


# input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override, output
CONFIGURATIONS = {
    "plain": ((4, 6), (2, 3), (2, 3), (0, 0), False, True, 0, (2, 2)),
    "overlapping": ((5, 7), (3, 3), (1, 2), (0, 0), False, True, 0, (3, 3)),
    "gaps between the windows": ((7, 7), (2, 1), (3, 4), (0, 0), False, True, 0, (2, 2)),
    "padding counts": ((5, 6), (3, 4), (2, 1), (1, 2), False, True, 0, (3, 7)),
    "padding does not count": ((5, 6), (3, 4), (2, 1), (1, 2), False, False, 0, (3, 7)),
    "ceil": ((5, 6), (2, 3), (2, 2), (0, 0), True, True, 0, (3, 3)),
    "ceil, padding counts": ((6, 6), (3, 3), (2, 2), (1, 1), True, True, 0, (4, 4)),
    "ceil, padding does not count": ((6, 6), (3, 3), (2, 2), (1, 1), True, False, 0, (4, 4)),
    "ceil, last window would start in the padding": ((5, 5), (2, 2), (3, 3), (1, 1), True, True, 0, (2, 2)),
    "ceil, kernel larger than the input": ((3, 3), (5, 4), (3, 2), (0, 0), True, True, 0, (1, 1)),
    "divisor": ((5, 5), (3, 3), (1, 1), (1, 1), False, True, 7, (5, 5)),
    "largest divisor": ((4, 4), (2, 2), (2, 2), (0, 0), False, True, 255, (2, 2)),
    "negative divisor": ((4, 4), (2, 2), (2, 2), (0, 0), False, False, -255, (2, 2)),
}


def pooling_call(size, kernel, stride, padding, ceil, include, divisor, out, *, dtype=DType.FLOAT, lead=(2, 3)):
    """Return the arguments and the exact result."""
    shape, grad_shape = (*lead, *size), (*lead, *out)
    grad = numbers(math.prod(grad_shape), dtype)
    arguments = but(
        CALL,
        gradOutput=Tensor(grad_shape, dtype, grad),
        self=Tensor(shape, dtype),
        gradInput=Tensor(shape, dtype),
        kernelSize=kernel,
        stride=stride,
        padding=padding,
        ceilMode=ceil,
        countIncludePad=include,
        divisorOverride=divisor,
    )
    return arguments, avg_pool2d_backward(grad, grad_shape, shape, kernel, stride, padding, ceil, include, divisor)


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
def test_values(aclnn, stream, configuration):
    arguments, expected = pooling_call(*configuration)
    assert_close(aclnn.run(AVG_POOL2D, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize("lead", [(2, 3), (5,)], ids=["rank 4", "rank 3"])
@pytest.mark.parametrize("dtype", LISTED, ids=lambda dtype: dtype.name)
def test_every_dtype_and_rank(aclnn, stream, dtype, lead):
    arguments, expected = pooling_call(*CONFIGURATIONS["ceil, padding does not count"], dtype=dtype, lead=lead)
    assert_close(aclnn.run(AVG_POOL2D, arguments, stream), expected, dtype)


def test_half_types_are_summed_in_float32(aclnn, stream):
    """In bfloat16 itself, the sum of the 300 windows that share the middle would stop at 256."""
    arguments, _ = pooling_call((1, 599), (1, 300), (1, 1), (0, 0), False, True, 1, (1, 300), dtype=DType.BF16, lead=(1, 1))
    arguments = but(arguments, gradOutput={"values": [1.0] * 300})
    assert aclnn.run(AVG_POOL2D, arguments, stream)[299] == pack(DType.BF16, 300.0)


@pytest.mark.parametrize("format", [Format.NCHW, Format.NCL], ids=lambda format: format.name)
def test_gradient_may_have_another_public_format(aclnn, stream, format):
    arguments, expected = pooling_call(*CONFIGURATIONS["plain"])
    arguments = but(arguments, gradOutput={"format": format})
    assert_close(aclnn.run(AVG_POOL2D, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize("cube_math_type", [0, 1, 2, 3])
def test_every_cube_math_type_computes_in_float32(aclnn, stream, cube_math_type):
    arguments, expected = pooling_call(*CONFIGURATIONS["overlapping"])
    arguments["cubeMathType"] = cube_math_type
    assert_close(aclnn.run(AVG_POOL2D, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [
        ((2, 2), None, (0, 0)),
        ((2, 2), (), (0,)),
        ((2,), (2,), (0,)),
        ((2,), (2, 2), (0, 0)),
        ((2, 2), (2,), (0,)),
    ],
    ids=["null stride", "empty stride", "one value each", "one kernel value", "one stride value"],
)
def test_short_arrays_mean_both_directions(aclnn, stream, kernel, stride, padding):
    arguments, expected = pooling_call((4, 6), (2, 2), (2, 2), (0, 0), False, True, 0, (2, 3))
    arguments = but(arguments, kernelSize=kernel, stride=stride, padding=padding)
    assert_close(aclnn.run(AVG_POOL2D, arguments, stream), expected, DType.FLOAT)


def test_missing_stride_means_the_kernel_of_each_direction(aclnn, stream):
    arguments, expected = pooling_call((4, 6), (2, 3), (2, 3), (0, 0), False, True, 0, (2, 2))
    assert_close(aclnn.run(AVG_POOL2D, but(arguments, stride=None), stream), expected, DType.FLOAT)


@pytest.mark.parametrize("output", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("gradient", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", [DType.FLOAT, DType.FLOAT16], ids=lambda dtype: dtype.name)
def test_strided_tensors(aclnn, stream, dtype, gradient, output):
    arguments, expected = pooling_call(*CONFIGURATIONS["padding counts"], dtype=dtype)
    arguments["gradOutput"] = arguments["gradOutput"].laid_out(**gradient)
    arguments["gradInput"] = arguments["gradInput"].laid_out(**output)
    assert_close(aclnn.run(AVG_POOL2D, arguments, stream), expected, dtype)


def test_expanded_gradient(aclnn, stream):
    arguments, _ = pooling_call(*CONFIGURATIONS["plain"])
    arguments["gradOutput"] = Tensor((2, 3, 2, 2), values=[6.0] * 24, strides=(0, 0, 0, 0), storage=(1,))
    assert aclnn.run(AVG_POOL2D, arguments, stream) == [pack(DType.FLOAT, 1.0)] * 144


@pytest.mark.parametrize("lead", [(0, 3), (2, 0), (0,)], ids=str)
@pytest.mark.parametrize("null_data", [False, True], ids=["with memory", "without memory"])
def test_empty_tensors_need_no_workspace_and_write_nothing(aclnn, stream, lead, null_data):
    arguments, _ = pooling_call(*CONFIGURATIONS["plain"], lead=lead)
    aclnn.writes_nothing(AVG_POOL2D, but(arguments, **all_tensors(null_data=null_data)), stream)


def test_65535_channels_are_accepted(aclnn):
    channels = {"shape": (1, 65535, 1, 1)}
    with aclnn.call(AVG_POOL2D, but(CALL, kernelSize=(1,), stride=None, **all_tensors(**channels))) as call:
        assert call.phase1() == 0, aclnn.message()
