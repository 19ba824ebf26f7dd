"""aclnnAdaptiveAvgPool3dBackward against its contract."""

import math

import pytest

from support.comparison import assert_close
from support.contract_rows import VIOLATION, difference_rows, dtype_rows, null_rows, private_format_rows, row, storage_rows, text
from support.dtypes import PRIVATE_FORMATS, DType, Format, numbers, pack
from support.operators import GOOD, ROWS
from support.status import NULL
from support.tensors import Tensor, but, every_tensor

ADAPTIVE_AVG_POOL3D = ROWS["adaptive_avg_pool3d"].entry_point.name
adaptive_avg_pool3d_backward = ROWS["adaptive_avg_pool3d"].gradient
CALL = GOOD[ADAPTIVE_AVG_POOL3D]
TENSORS = ("gradOutput", "self", "out")
LISTED = (DType.FLOAT, DType.FLOAT16, DType.BF16)


def both_inputs(shape):
    return {"self": {"shape": shape}, "out": {"shape": shape}}


SHAPES = [
    *(
        row(f"all of rank {len(shape)}", every_tensor(CALL, shape=shape), "gradOutput", "^4 to 5 dimensions$", text(shape))
        for shape in [(), (4,), (3, 4, 4), (1, 2, 3, 4, 4, 4)]
    ),
    *(
        row(
            f"{name} of another rank",
            {name: {"shape": (3, 3, 5, 4), "format": Format.NCDHW}},
            reported,
            f"the {rank} dimensions of self",
            text(got),
        )
        for name, reported, rank, got in [
            ("gradOutput", "gradOutput", 5, (3, 3, 5, 4)),
            ("self", "gradOutput", 4, (2, 3, 2, 2, 3)),
            ("out", "out", 5, (3, 3, 5, 4)),
        ]
    ),
    row("negative dim of self and out", both_inputs((2, 3, -3, 5, 4)), "self", "no negative dimension", text((2, 3, -3, 5, 4))),
    row(
        "negative dim of gradOutput",
        {"gradOutput": {"shape": (2, 3, 2, 2, -3)}},
        "gradOutput",
        "no negative dimension",
        text((2, 3, 2, 2, -3)),
    ),
    *(
        row(f"{name} with another {axis}", {name: {"shape": shape}}, name, f"^{size} in dimension {d}$", text(shape))
        for name in ("gradOutput", "out")
        for axis, d, size, shape in [("N", 0, 2, (1, 3, 3, 5, 4)), ("C", 1, 3, (2, 1, 3, 5, 4))]
    ),
    *(
        row(f"out with another {axis}", {"out": {"shape": shape}}, "out", r"the shape of self, \{2, 3, 3, 5, 4\}", text(shape))
        for axis, shape in [("D", (2, 3, 2, 5, 4)), ("H", (2, 3, 3, 4, 4)), ("W", (2, 3, 3, 5, 1))]
    ),
    *(
        row(
            f"gradOutput without {axis}",
            {"gradOutput": {"shape": shape}},
            "gradOutput",
            "at least one element for each plane",
            text(shape),
        )
        for axis, shape in [("planes", (2, 3, 0, 2, 3)), ("rows", (2, 3, 2, 0, 3)), ("columns", (2, 3, 2, 2, 0))]
    ),
    row(
        "another C of rank 4",
        {
            "gradOutput": {"shape": (1, 2, 2, 2)},
            "self": {"shape": (3, 4, 4, 4)},
            "out": {"shape": (3, 4, 4, 4)},
        },
        "gradOutput",
        "^3 in dimension 0$",
        text((1, 2, 2, 2)),
    ),
]


@pytest.mark.parametrize(
    VIOLATION,
    [
        *null_rows(*TENSORS),
        *dtype_rows(TENSORS, LISTED),
        *difference_rows(ADAPTIVE_AVG_POOL3D, TENSORS, "self", dtype=DType.FLOAT16, format=Format.ND),
        *private_format_rows(ADAPTIVE_AVG_POOL3D, reference="self"),
        *SHAPES,
        *storage_rows(ADAPTIVE_AVG_POOL3D),
    ],
)
def test_refuses(aclnn, changes, code, parameter, expected, got):
    aclnn.refuses(ADAPTIVE_AVG_POOL3D, but(CALL, **changes), code, parameter, expected, got)


@pytest.mark.parametrize("null", TENSORS)
def test_null_is_reported_before_anything_else(aclnn, null):
    wrong = every_tensor(CALL, dtype=DType.BOOL, shape=(4,), format=Format.NC1HWC0)
    aclnn.refuses(ADAPTIVE_AVG_POOL3D, but(CALL, **(wrong | {null: None})), NULL, null, "a value", "null")


def test_example_gives_its_documented_values(aclnn, stream):
    shape = (1, 1, 2, 4, 2)
    arguments = {"gradOutput": Tensor((1, 1, 1, 3, 2), values=range(1, 7)), "self": Tensor(shape), "out": Tensor(shape)}
    expected = [pack(DType.FLOAT, value) for value in 2 * (0.25, 0.5, 1, 1.5, 2, 2.5, 1.25, 1.5)]
    assert aclnn.run(ADAPTIVE_AVG_POOL3D, arguments, stream) == expected


def pooling_call(size, out, *, dtype=DType.FLOAT, lead=(2, 3)):
    """Return the arguments and the exact result."""
    shape, grad_shape = (*lead, *size), (*lead, *out)
    grad = numbers(math.prod(grad_shape), dtype)
    arguments = {
        "gradOutput": Tensor(grad_shape, dtype, grad),
        "self": Tensor(shape, dtype),
        "out": Tensor(shape, dtype),
    }
    return arguments, adaptive_avg_pool3d_backward(grad, grad_shape, shape)


@pytest.mark.parametrize(
    ("size", "out"),
    [
        ((2, 4, 6), (1, 1, 1)),
        ((4, 4, 6), (2, 2, 3)),
        ((4, 5, 7), (3, 3, 2)),
        ((3, 7, 5), (2, 6, 4)),
        ((2, 3, 4), (2, 3, 4)),
        ((2, 3, 2), (3, 5, 7)),
        ((1, 1, 1), (2, 3, 2)),
        ((1, 6, 2), (2, 4, 5)),
        ((9, 2, 2), (4, 1, 2)),
    ],
    ids=str,
)
def test_values(aclnn, stream, size, out):
    arguments, expected = pooling_call(size, out)
    assert_close(aclnn.run(ADAPTIVE_AVG_POOL3D, arguments, stream), expected, DType.FLOAT)


@pytest.mark.parametrize("lead", [(2, 3), (5,)], ids=["rank 5", "rank 4"])
@pytest.mark.parametrize("dtype", LISTED, ids=lambda dtype: dtype.name)
def test_every_dtype_and_rank(aclnn, stream, dtype, lead):
    arguments, expected = pooling_call((3, 5, 7), (2, 3, 4), dtype=dtype, lead=lead)
    assert_close(aclnn.run(ADAPTIVE_AVG_POOL3D, arguments, stream), expected, dtype)


@pytest.mark.parametrize(("dtype", "count"), [(DType.BF16, 300), (DType.FLOAT16, 2100)], ids=["BF16", "FLOAT16"])
def test_half_types_are_summed_in_float32(aclnn, stream, dtype, count):
    """In the half type itself, a sum of ones would stop at 256 or 2048."""
    arguments, _ = pooling_call((1, 1, 1), (1, 1, count), dtype=dtype, lead=(1, 1))
    arguments = but(arguments, gradOutput={"values": [1.0] * count})
    assert aclnn.run(ADAPTIVE_AVG_POOL3D, arguments, stream) == [pack(dtype, count)]


@pytest.mark.parametrize("format", [f for f in Format if f not in PRIVATE_FORMATS], ids=lambda format: format.name)
def test_every_public_format(aclnn, stream, format):
    arguments, expected = pooling_call((3, 5, 7), (2, 3, 4))
    arguments = but(arguments, **every_tensor(arguments, format=format))
    assert_close(aclnn.run(ADAPTIVE_AVG_POOL3D, arguments, stream), expected, DType.FLOAT)


LAYOUTS = {
    "offset": {"offset": 5},
    "channels last": {"order": (0, 2, 3, 4, 1), "offset": 3},
    "transposed with gaps": {"order": (4, 1, 0, 3, 2), "step": 3, "offset": 2},
}


@pytest.mark.parametrize("output", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("gradient", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", [DType.FLOAT, DType.FLOAT16], ids=lambda dtype: dtype.name)
def test_strided_tensors(aclnn, stream, dtype, gradient, output):
    arguments, expected = pooling_call((3, 5, 7), (2, 3, 4), dtype=dtype)
    arguments["gradOutput"] = arguments["gradOutput"].laid_out(**gradient)
    arguments["out"] = arguments["out"].laid_out(**output)
    assert_close(aclnn.run(ADAPTIVE_AVG_POOL3D, arguments, stream), expected, dtype)


def test_expanded_gradient(aclnn, stream):
    arguments, _ = pooling_call((4, 4, 4), (2, 2, 2))
    arguments["gradOutput"] = Tensor((2, 3, 2, 2, 2), values=[8.0] * 48, strides=(0,) * 5, storage=(1,))
    assert aclnn.run(ADAPTIVE_AVG_POOL3D, arguments, stream) == [pack(DType.FLOAT, 1.0)] * 384


@pytest.mark.parametrize(
    ("lead", "size"),
    [((0, 3), (3, 5, 7)), ((2, 0), (3, 5, 7)), ((0,), (3, 5, 7)), ((2, 3), (0, 5, 7)), ((2, 3), (3, 0, 7)), ((3,), (3, 5, 0))],
)
@pytest.mark.parametrize("null_data", [False, True], ids=["with memory", "without memory"])
def test_empty_result_needs_no_workspace_and_writes_nothing(aclnn, stream, lead, size, null_data):
    arguments, _ = pooling_call(size, (2, 3, 4), lead=lead)
    for name in ("self", "out"):
        arguments[name] = arguments[name].but(null_data=null_data)
    aclnn.writes_nothing(ADAPTIVE_AVG_POOL3D, arguments, stream)
