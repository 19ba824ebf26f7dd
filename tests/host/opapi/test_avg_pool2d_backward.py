"""aclnnAvgPool2dBackward against its contract."""

import math

import pytest

from support.comparison import assert_close
from support.contract_rows import REFUSAL, dtype_rows, null_rows, row, storage_rows, text
from support.dtypes import DType, Format, numbers, pack
from support.operators import GOOD
from support.operators.avg_pool2d import NAME as AVG_POOL2D
from support.operators.avg_pool2d import gradient as avg_pool2d_backward
from support.status import NULL
from support.tensors import LAYOUTS, Tensor, but, every_tensor

CALL = GOOD[AVG_POOL2D]
TENSORS = ("gradOutput", "self", "gradInput")
LISTED = (DType.FLOAT, DType.FLOAT16, DType.BF16)


def all_tensors(**fields):
    return every_tensor(CALL, **fields)


def both_inputs(shape):
    return {"self": {"shape": shape}, "gradInput": {"shape": shape}}


FORMATS = [
    row(f"{name} {format.name}", {name: {"format": format}}, name, "^format NCHW or NCL$", f"^{format.name}$")
    for name in TENSORS
    for format in Format
    if format not in (Format.NCHW, Format.NCL)
]

SHAPES = [
    *(
        row(
            f"all of rank {len(shape)}",
            all_tensors(shape=shape, format=Format.NCHW),
            "gradOutput",
            "^3 to 4 dim",
            text(shape),
        )
        for shape in [(), (4,), (4, 4), (1, 2, 3, 4, 4)]
    ),
    row(
        "gradOutput of another rank",
        {"gradOutput": {"shape": (3, 2, 2)}},
        "gradOutput",
        "the 4 dimensions of self",
        text((3, 2, 2)),
    ),
    row(
        "gradInput of another rank",
        {"gradInput": {"shape": (3, 4, 4), "format": Format.NCHW}},
        "gradInput",
        r"the shape of self, \{2, 3, 4, 4\}",
        text((3, 4, 4)),
    ),
    row("negative dim of self", both_inputs((2, -3, 4, 4)), "self", "no negative dimension", text((2, -3, 4, 4))),
    row(
        "negative dim of gradOutput",
        {"gradOutput": {"shape": (2, 3, -2, 2)}},
        "gradOutput",
        "no negative dimension",
        text((2, 3, -2, 2)),
    ),
    *(
        row(
            f"gradInput {shape}",
            {"gradInput": {"shape": shape}},
            "gradInput",
            r"the shape of self, \{2, 3, 4, 4\}",
            text(shape),
        )
        for shape in [(1, 3, 4, 4), (2, 4, 4, 4), (2, 3, 5, 4), (2, 3, 4, 5)]
    ),
    *(
        row(
            f"gradOutput {shape}",
            {"gradOutput": {"shape": shape}},
            "gradOutput",
            f"^{size} in dimension {d}$",
            text(shape),
        )
        for d, (size, shape) in enumerate([(2, (1, 3, 2, 2)), (3, (2, 1, 2, 2)), (2, (2, 3, 3, 2)), (2, (2, 3, 2, 1))])
    ),
    row(
        "ceilMode gives one more",
        {"stride": (3, 3), "ceilMode": True, "gradOutput": {"shape": (2, 3, 1, 1)}},
        "gradOutput",
        "^2 in dimension 2$",
        text((2, 3, 1, 1)),
    ),
    row("without ceilMode one less", {"stride": (3, 3)}, "gradOutput", "^1 in dimension 2$", text((2, 3, 2, 2))),
    row(
        "last window would start in the padding",
        {
            "kernelSize": (2, 2),
            "stride": (3, 3),
            "padding": (1, 1),
            "ceilMode": True,
            "gradOutput": {"shape": (2, 3, 3, 3)},
            **both_inputs((2, 3, 5, 5)),
        },
        "gradOutput",
        "^2 in dimension 2$",
        text((2, 3, 3, 3)),
    ),
    row(
        "kernel larger than self",
        {"kernelSize": (5, 5), "gradOutput": {"shape": (2, 3, 0, 0)}},
        "self",
        "a size that holds a window of 5 in dimension 2",
        text((2, 3, 4, 4)),
    ),
    row(
        "too many channels",
        {"kernelSize": (1,), "stride": None} | all_tensors(shape=(1, 65536, 1, 1), strides=(0,) * 4),
        "self",
        "^at most 65535 channels$",
        text((1, 65536, 1, 1)),
    ),
    row(
        "too many channels of rank 3",
        {"kernelSize": (1,), "stride": None} | all_tensors(shape=(65536, 1, 1), strides=(0,) * 3),
        "self",
        "^at most 65535 channels$",
        text((65536, 1, 1)),
    ),
]

ATTRIBUTES = [
    *(row(f"kernelSize of length {len(v)}", {"kernelSize": v}, "kernelSize", "^1, 2 values$", f"^{len(v)}$") for v in [(), (2, 2, 2)]),
    *(
        row(f"kernelSize {v}", {"kernelSize": v}, "kernelSize", "at least 1", f"^{min(v) if min(v) < 1 else 2**31}$")
        for v in [(0,), (-1,), (2, 0), (0, 2), (2, -2), (2**31, 2)]
    ),
    row("stride of length 3", {"stride": (2, 2, 2)}, "stride", "^1, 2 values$", "^3$"),
    *(row(f"stride {v}", {"stride": v}, "stride", "at least 1", f"^{min(v)}$") for v in [(0,), (2, 0), (-1, 2)]),
    *(row(f"padding of length {len(v)}", {"padding": v}, "padding", "^1, 2 values$", f"^{len(v)}$") for v in [(), (0, 0, 0)]),
    *(row(f"padding {v}", {"padding": v}, "padding", "at least 0", f"^{min(v)}$") for v in [(-1,), (0, -1), (-2, 0)]),
    row("padding over half of the kernel's height", {"padding": (2, 0)}, "padding", "half of kernelSize 2", "^2$"),
    row("padding over half of the kernel's width", {"padding": (0, 2)}, "padding", "half of kernelSize 2", "^2$"),
    row(
        "padding over half of an odd kernel",
        {"kernelSize": (3,), "padding": (2,)},
        "padding",
        "half of kernelSize 3",
        "^2$",
    ),
    *(row(f"cubeMathType {v}", {"cubeMathType": v}, "cubeMathType", r"0\.\.3", f"^{v}$") for v in (-1, 4, 127, -128)),
    *(
        row(f"divisorOverride {v}", {"divisorOverride": v}, "divisorOverride", r"\[-255, 255\]", f"^{v}$")
        for v in (-256, 256, 2**62, -(2**62))
    ),
]


@pytest.mark.parametrize(
    REFUSAL,
    [
        *null_rows("gradOutput", "self", "kernelSize", "padding", "gradInput"),
        *dtype_rows(("gradOutput", "self", "gradInput"), LISTED),
        row(
            "gradOutput of another dtype",
            {"gradOutput": {"dtype": DType.FLOAT16}},
            "gradOutput",
            "the data type of gradInput, FLOAT$",
            "^FLOAT16$",
        ),
        row(
            "self of another dtype",
            {"self": {"dtype": DType.BF16}},
            "self",
            "the data type of gradInput, FLOAT$",
            "^BF16$",
        ),
        *FORMATS,
        row(
            "formats of self and gradInput differ",
            {"self": {"format": Format.NCL}},
            "self",
            "the format of gradInput, NCHW",
            "^NCL$",
        ),
        *SHAPES,
        *ATTRIBUTES,
        *storage_rows(AVG_POOL2D),
    ],
)
def test_refuses(aclnn, changes, code, parameter, expected, got):
    aclnn.refuses(AVG_POOL2D, but(CALL, **changes), code, parameter, expected, got)


@pytest.mark.parametrize("null", ["gradOutput", "self", "kernelSize", "padding", "gradInput"])
def test_null_is_reported_before_anything_else(aclnn, null):
    wrong = all_tensors(dtype=DType.BOOL, shape=(4,), format=Format.NC1HWC0)
    wrong |= {"kernelSize": (), "padding": (-1,), "stride": (0,), "cubeMathType": 9, "divisorOverride": 999}
    aclnn.refuses(AVG_POOL2D, but(CALL, **(wrong | {null: None})), NULL, null, "a value", "null")


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
    return arguments, avg_pool2d_backward(grad, grad_shape, shape, kernel, stride, padding, include, divisor)


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
