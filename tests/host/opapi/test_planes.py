"""The entry points on planes, each against its contract (support/contracts)."""

import pytest

from support.comparison import assert_close
from support.contracts import CONTRACTS, PADDINGS, POOLINGS, UNPOOLINGS
from support.dtypes import HALF_TYPES, DType, Format, pack
from support.entry_point import EntryPoint
from support.operators import ENTRY_POINTS
from support.status import NULL
from support.tensors import Tensor, but, every_tensor

GROUPS = ("nulls", "dtypes", "formats", "shapes", "attributes", "storage")
of_each = pytest.mark.parametrize("contract", CONTRACTS, ids=str)
SUMS = [contract for contract in CONTRACTS if contract not in UNPOOLINGS]
of_each_sum = pytest.mark.parametrize("contract", SUMS, ids=str)


def runs(aclnn, stream, contract, call, dtype: DType = DType.FLOAT) -> None:
    arguments, expected = call
    assert_close(aclnn.run(contract.name, arguments, stream), expected, dtype)


def test_each_entry_point_but_that_of_batch_norm_has_a_contract():
    assert {contract.name for contract in CONTRACTS} == set(ENTRY_POINTS) - {"aclnnBatchNormElemtBackward"}


@pytest.mark.parametrize("group", GROUPS)
@of_each
def test_refuses(aclnn, contract, group):
    for case in contract.refused(group):
        changes, code, parameter, expected, got = case.values
        try:
            aclnn.refuses(contract.name, but(contract.good, **changes), code, parameter, expected, got)
        except AssertionError as error:
            raise AssertionError(f"{case.id}: {error}") from error


@of_each
def test_null_is_reported_before_anything_else(aclnn, contract):
    wrong = every_tensor(contract.good, dtype=DType.UINT64, shape=(4,), format=Format.NC1HWC0, values=None)
    wrong |= {name: () for name, value in contract.good.items() if isinstance(value, tuple)}
    for name in contract.required():
        aclnn.refuses(contract.name, but(contract.good, **(wrong | {name: None})), NULL, name, "a value", "null")


def plane(grad, size, values, **attributes):
    return {"gradOutput": Tensor((1, 1, *grad), values=values), "shape": (1, 1, *size), **attributes}


# The examples of the documents, with their results.
EXAMPLES = [
    ("aclnnAvgPool2dBackward", plane((1, 1), (4, 4), [1], kernelSize=(4, 4), stride=(1, 1)), [0.0625] * 16),
    ("aclnnAdaptiveAvgPool2dBackward", plane((3, 2), (4, 2), range(1, 7)), [0.5, 1, 2, 3, 4, 5, 2.5, 3]),
    ("aclnnAdaptiveAvgPool3dBackward", plane((1, 3, 2), (2, 4, 2), range(1, 7)), 2 * [0.25, 0.5, 1, 1.5, 2, 2.5, 1.25, 1.5]),
    ("aclnnReplicationPad1dBackward", plane((5,), (3,), [1] * 5, padding=(1, 1)), [2, 1, 2]),
    ("aclnnReplicationPad2dBackward", plane((1, 7), (1, 5), [1] * 7, padding=(1, 1, 0, 0)), [2, 1, 1, 1, 2]),
    ("aclnnReflectionPad1dBackward", plane((5,), (3,), [1] * 5, padding=(1, 1)), [1, 3, 1]),
    ("aclnnReflectionPad2dBackward", plane((1, 7), (1, 5), [1] * 7, padding=(1, 1, 0, 0)), [1, 2, 1, 2, 1]),
    ("aclnnCircularPad2dBackward", plane((1, 7), (1, 5), [1] * 7, padding=(1, 1, 0, 0)), [2, 1, 1, 1, 2]),
]


@pytest.mark.parametrize(("name", "changes", "expected"), EXAMPLES, ids=[name for name, *_ in EXAMPLES])
def test_example_gives_its_documented_values(aclnn, stream, name, changes, expected):
    entry_point: EntryPoint = ENTRY_POINTS[name]
    shape = {"shape": changes["shape"]}
    attributes = {name: value for name, value in changes.items() if name != "shape"}
    arguments = but(entry_point.good, **attributes, self=shape, **{entry_point.output: shape})
    assert aclnn.run(name, arguments, stream) == [pack(DType.FLOAT, value) for value in expected]


@of_each
def test_values(aclnn, stream, contract):
    for numbers in contract.calls():
        runs(aclnn, stream, contract, contract.call(*numbers))


@of_each
def test_every_dtype_and_rank(aclnn, stream, contract):
    *_, numbers = contract.calls()
    for dtype in contract.listed:
        for lead in ((2, 3), (5,)):
            runs(aclnn, stream, contract, contract.call(*numbers, dtype=dtype, lead=lead), dtype)


@pytest.mark.parametrize("dtype", HALF_TYPES, ids=lambda dtype: dtype.name)
@of_each_sum
def test_half_types_are_summed_in_float32(aclnn, stream, contract, dtype):
    """In the half type itself, a sum of ones would stop at 256 or 2048, and a number as large would stay what it is."""
    arguments, _ = contract.call(*contract.many_ones(), dtype=dtype, lead=(1, 1))
    width = arguments["gradOutput"].shape[-1]
    values = [1.0] * width if width > 3 else [1.0, 256.0 if dtype == DType.BF16 else 2048.0, 1.0]
    arguments = but(arguments, gradOutput={"values": values})
    expected = contract.gradient_of(values, arguments)
    assert aclnn.run(contract.name, arguments, stream) == [pack(dtype, value) for value in expected]


@of_each
def test_every_public_format(aclnn, stream, contract):
    *_, numbers = contract.calls()
    for format in contract.public_formats:
        arguments, expected = contract.call(*numbers)
        arguments = but(arguments, **every_tensor(arguments, format=format))
        runs(aclnn, stream, contract, (arguments, expected))


@pytest.mark.parametrize("contract", POOLINGS, ids=str)
def test_gradient_of_a_pooling_may_have_another_public_format(aclnn, stream, contract):
    *_, numbers = contract.calls()
    for format in contract.public_formats:
        arguments, expected = contract.call(*numbers)
        runs(aclnn, stream, contract, (but(arguments, gradOutput={"format": format}), expected))


def layouts(rank: int) -> list[dict]:
    """Return an offset, channels last, and dimensions in another order with gaps."""
    order = (rank - 1, 1, 0, *range(2, rank - 1))
    return [{"offset": 5}, {"order": (0, *range(2, rank), 1), "offset": 3}, {"order": order, "step": 3, "offset": 2}]


@of_each
def test_strided_tensors(aclnn, stream, contract):
    _, numbers, *_ = contract.calls()
    read = [name for name in ("gradOutput", "indices") if name in contract.good]
    every = layouts(contract.dims + 2)
    of_result = every[0 if contract.contiguous_output else -1]  # for operators that read indices too
    for dtype in (contract.listed[0], contract.listed[-1]):
        for first in every:
            for second in every:
                arguments, expected = contract.call(*numbers, dtype=dtype)
                places = dict(zip((*read, contract.result), (first, second, of_result), strict=False))
                laid_out = {name: arguments[name].laid_out(**place) for name, place in places.items()}
                runs(aclnn, stream, contract, (but(arguments, **laid_out), expected), dtype)


@of_each_sum
def test_expanded_gradient(aclnn, stream, contract):
    _, numbers, *_ = contract.calls()
    arguments, _ = contract.call(*numbers)
    grad = arguments["gradOutput"]
    values = [6.0] * len(grad.values)
    arguments["gradOutput"] = grad.but(values=values, strides=(0,) * len(grad.shape), storage=(1,))
    runs(aclnn, stream, contract, (arguments, contract.gradient_of(values, arguments)))


@pytest.mark.parametrize("null_data", [False, True], ids=["with memory", "without memory"])
@of_each
def test_empty_tensors_need_no_workspace_and_write_nothing(aclnn, stream, contract, null_data):
    numbers, *_ = contract.calls()
    for lead in ((0, 3), (0,)) if contract.planes_with_elements and contract not in PADDINGS else ((0, 3),):
        arguments, _ = contract.call(*numbers, lead=lead)
        aclnn.writes_nothing(contract.name, but(arguments, **every_tensor(arguments, null_data=null_data)), stream)
