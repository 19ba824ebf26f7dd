"""aclnnBatchNormElemtBackward against its contract."""

import math
import random

import pytest

from support.contract_rows import VIOLATION, dtype_rows, in_turn, null_rows, private_format_rows, row, storage_rows, text
from support.dtypes import PRIVATE_FORMATS, DType, Format, pack
from support.operators import GOOD, ROWS
from support.tensors import LAYOUTS, Tensor, but, every_tensor

BATCH_NORM_ELEMT = ROWS["batch_norm_elemt"].entry_point.name
batch_norm_elemt_backward = ROWS["batch_norm_elemt"].gradient
CALL = GOOD[BATCH_NORM_ELEMT]
FULL = ("gradOut", "input", "gradInput")
CHANNELS = ("mean", "invstd", "weight", "sumDy", "sumDyXmu")
REQUIRED = ("gradOut", "input", "mean", "invstd", "sumDy", "sumDyXmu", "counter", "gradInput")
FLOATING = ("gradOut", "input", "mean", "invstd", "weight", "sumDy", "sumDyXmu", "gradInput")
LISTED = (DType.FLOAT, DType.FLOAT16, DType.BF16)
COUNTERS = (DType.INT32, DType.FLOAT16, DType.FLOAT)


def full_shapes(shape):
    return {name: {"shape": shape} for name in FULL}


SHAPES = [
    *(
        row(f"rank {len(shape)}", full_shapes(shape), "input", "^2 to 8 dimensions$", text(shape))
        for shape in [(), (3,), (1, 3, 1, 1, 1, 1, 1, 1, 1)]
    ),
    *(
        row(f"{name} {shape}", {name: {"shape": shape}}, name, r"the shape of input, \{2, 3, 1, 4\}", text(shape))
        for name in ("gradOut", "gradInput")
        for shape in [(1, 3, 1, 4), (2, 3, 1, 1), (2, 3, 4), (2, 3, 1, 4, 1)]
    ),
    row("no channels", full_shapes((2, 0, 1, 4)), "input", "at least one channel", text((2, 0, 1, 4))),
    row("no channels and channel tensors to match",
        full_shapes((2, 0))
        | {name: {"shape": (0,)} for name in CHANNELS}, "input", "at least one channel", text((2, 0))),
    row("negative dim", full_shapes((-2, 3, 1, 4)), "gradOut", "no negative dimension", text((-2, 3, 1, 4))),
    *(
        row(f"{name} of size {size}", {name: {"shape": (size,)}}, name, "^3 in dimension 0$", text((size,)))
        for name, size in in_turn(CHANNELS, (1, 2, 4, 0, -3))
    ),
    *(
        row(f"{name} {shape}", {name: {"shape": shape}}, name, "^1 to 1 dimensions$", text(shape))
        for name, shape in in_turn(CHANNELS, ((), (1, 3), (3, 1), (1, 3, 1, 1)))
    ),
    *(
        row(f"empty counter {shape}", {"counter": {"shape": shape}}, "counter", "at least one element", text(shape))
        for shape in [(0,), (2, 0), (0, 3)]
    ),
    row("counter with a negative dim", {"counter": {"shape": (-1,)}}, "counter", "no negative dimension", text((-1,))),
]  # fmt: skip


@pytest.mark.parametrize(
    VIOLATION,
    [
        *null_rows(*REQUIRED),
        *dtype_rows(FLOATING, LISTED),
        *dtype_rows(("counter",), COUNTERS),
        *private_format_rows(BATCH_NORM_ELEMT),
        *SHAPES,
        *storage_rows(BATCH_NORM_ELEMT),
    ],
)
def test_refuses(aclnn, changes, code, parameter, expected, got):
    aclnn.refuses(BATCH_NORM_ELEMT, but(CALL, **changes), code, parameter, expected, got)


def dyadic_call(shape, dtype=DType.FLOAT, channel_dtype=None):
    """Return a call whose numbers and results are small multiples of 1/16, which every type holds exactly, and its result."""
    source = random.Random(0)
    count, samples = math.prod(shape), [5, 3]
    grad = [source.randrange(-8, 9) / 4 for _ in range(count)]
    data = [source.randrange(-4, 5) / 2 for _ in range(count)]
    draws = {
        "mean": lambda: source.randrange(-2, 3) / 2,
        "invstd": lambda: source.choice([0.5, 1.0, 2.0]),
        "weight": lambda: source.choice([-2.0, -1.0, 1.0, 0.5]),
        "sumDy": lambda: float(source.randrange(-8, 9)),
        "sumDyXmu": lambda: float(source.randrange(-4, 5)),
    }
    channels = {name: [draw() for _ in range(shape[1])] for name, draw in draws.items()}
    arguments = {
        "gradOut": Tensor(shape, dtype, grad),
        "input": Tensor(shape, dtype, data),
        **{name: Tensor((shape[1],), dtype if channel_dtype is None else channel_dtype, values) for name, values in channels.items()},
        "counter": Tensor((len(samples),), DType.FLOAT, samples),
        "gradInput": Tensor(shape, dtype),
    }
    return arguments, batch_norm_elemt_backward(grad, data, shape, channels, samples)


RANKS = [(4, 3), (2, 3, 5), (2, 3, 2, 4), (2, 3, 2, 1, 3), (1, 3, 2, 2, 1, 2), (2, 2, 1, 2, 2, 1, 2), (2, 3, 1, 2, 1, 2, 2, 1), (1, 1)]


@pytest.mark.parametrize(("shape", "dtype"), [*in_turn(RANKS, LISTED), *in_turn([(2, 3, 300)], LISTED)], ids=str)
def test_every_rank_is_exact_for_numbers_that_the_types_hold(aclnn, stream, dtype, shape):
    arguments, expected = dyadic_call(shape, dtype=dtype)
    assert aclnn.run(BATCH_NORM_ELEMT, arguments, stream) == [pack(dtype, value) for value in expected]


@pytest.mark.parametrize("wide", [DType.FLOAT, DType.FLOAT16, DType.BF16], ids=lambda dtype: f"full {dtype.name}")
@pytest.mark.parametrize("narrow", [DType.FLOAT, DType.FLOAT16, DType.BF16], ids=lambda dtype: f"channels {dtype.name}")
def test_types_need_not_be_equal(aclnn, stream, wide, narrow):
    arguments, expected = dyadic_call((2, 3, 4), dtype=wide, channel_dtype=narrow)
    assert aclnn.run(BATCH_NORM_ELEMT, arguments, stream) == [pack(wide, value) for value in expected]


@pytest.mark.parametrize("name", ["gradOut", "input", "gradInput"])
@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BF16], ids=lambda dtype: dtype.name)
def test_each_full_tensor_may_have_a_type_of_its_own(aclnn, stream, name, dtype):
    arguments, expected = dyadic_call((2, 3, 4))
    arguments = but(arguments, **{name: {"dtype": dtype}})
    result_dtype = arguments["gradInput"].dtype
    assert aclnn.run(BATCH_NORM_ELEMT, arguments, stream) == [pack(result_dtype, value) for value in expected]


@pytest.mark.parametrize(("shape", "values"), [
    ((), [8]), ((1,), [8]), ((8,), [1] * 8), ((2, 2), [1, 2, 3, 2]), ((1, 2, 1, 2), [4, 0, 1, 3]),
], ids=str)  # fmt: skip
def test_samples_are_the_sum_of_a_counter_of_any_shape(aclnn, stream, shape, values):
    arguments, expected = dyadic_call((2, 3, 4))
    arguments["counter"] = Tensor(shape, DType.INT32, values)
    assert aclnn.run(BATCH_NORM_ELEMT, arguments, stream) == [pack(DType.FLOAT, value) for value in expected]


@pytest.mark.parametrize("format", [f for f in Format if f not in PRIVATE_FORMATS], ids=lambda format: format.name)
def test_every_public_format(aclnn, stream, format):
    arguments, expected = dyadic_call((2, 3, 4))
    arguments = but(arguments, **every_tensor(arguments, format=format))
    assert aclnn.run(BATCH_NORM_ELEMT, arguments, stream) == [pack(DType.FLOAT, value) for value in expected]


@pytest.mark.parametrize("output", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("inputs", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", [DType.FLOAT, DType.FLOAT16], ids=lambda dtype: dtype.name)
def test_strided_tensors(aclnn, stream, dtype, inputs, output):
    arguments, expected = dyadic_call((2, 3, 2, 4), dtype=dtype)
    arguments["gradOut"] = arguments["gradOut"].laid_out(**inputs)
    arguments["input"] = arguments["input"].laid_out(order=(2, 0, 1, 3), step=2, offset=1)
    arguments["gradInput"] = arguments["gradInput"].laid_out(**output)
    for name in (*CHANNELS, "counter"):
        arguments[name] = arguments[name].laid_out(step=3, offset=2)
    assert aclnn.run(BATCH_NORM_ELEMT, arguments, stream) == [pack(dtype, value) for value in expected]


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 2, 2), (2, 3, 0), (2, 3, 0, 4)], ids=str)
@pytest.mark.parametrize("null_data", [False, True], ids=["with memory", "without memory"])
def test_empty_tensors_need_no_workspace_and_write_nothing(aclnn, stream, shape, null_data):
    arguments, _ = dyadic_call(shape)
    aclnn.writes_nothing(BATCH_NORM_ELEMT, but(arguments, **{n: {"null_data": null_data} for n in FULL}), stream)
