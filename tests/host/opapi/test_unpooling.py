"""The gradients of max unpooling: bits are moved, and an index outside its plane is an error of the stream."""

import pytest

from support.contracts import UNPOOLINGS
from support.dtypes import DType, pack

pytestmark = pytest.mark.parametrize("contract", UNPOOLINGS, ids=str)


def sizes(contract, depth, height, width):
    return (depth, height, width)[-contract.dims :]


def test_moves_the_bits_of_every_float(aclnn, stream, contract):
    values = [float("nan"), float("inf"), -float("inf"), -0.0, 1e-45, -3.4e38]
    plane = sizes(contract, 1, 2, 3)
    arguments, _ = contract.call(plane, plane, lead=(1, 1), indices=[5, 4, 3, 2, 1, 0])
    arguments["gradOutput"] = arguments["gradOutput"].but(values=values)
    assert aclnn.run(contract.name, arguments, stream) == [pack(DType.FLOAT, value) for value in reversed(values)]


def test_strides_of_dimensions_of_size_1_do_not_matter(aclnn, stream, contract):
    arguments, expected = contract.call(sizes(contract, 2, 1, 2), sizes(contract, 2, 2, 2), lead=(1, 3))
    strides = (77, 4, 2, 99, 1) if contract.dims == 3 else (77, 2, 99, 1)
    arguments[contract.result] = arguments[contract.result].but(strides=strides)
    assert aclnn.run(contract.name, arguments, stream) == [pack(DType.FLOAT, value) for value in expected]


def test_each_type_of_index(aclnn, stream, contract):
    for index_type in (DType.INT64,) if contract.dims == 3 else (DType.INT64, DType.INT32):
        arguments, expected = contract.call(sizes(contract, 2, 3, 2), sizes(contract, 4, 5, 3), index_type=index_type)
        arguments["indices"] = arguments["indices"].laid_out(order=(*range(contract.dims + 1, -1, -1),), step=2, offset=1)
        assert aclnn.run(contract.name, arguments, stream) == [pack(DType.FLOAT, value) for value in expected]


# For planes of 60 or 15 elements: which index is put where, and which of them the message names.
OUTSIDE = {
    "just too large": ({17: 60}, 17),
    "negative": ({0: -1}, 0),
    "last element": ({35: 61}, 35),
    "in the next plane's memory": ({4: 119}, 4),
    "largest and smallest": ({23: 2**63 - 1, 33: -(2**63)}, 23),
    "several": ({34: 60, 18: -5, 19: 1000, 25: -1}, 18),
}


def place(number, shape):
    position = []
    for size in reversed(shape):
        number, index = divmod(number, size)
        position.insert(0, index)
    return "{" + ", ".join(map(str, position)) + "}"


@pytest.mark.parametrize(("outside", "first"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_index_outside_gives_zero_and_one_asynchronous_error(aclnn, stream, contract, outside, first):
    size, unpooled = sizes(contract, 2, 3, 2), sizes(contract, 4, 5, 3)
    end = 60 if contract.dims == 3 else 15
    for dtype in contract.listed:
        for gaps in ({}, {"order": (*range(contract.dims + 1, -1, -1),), "step": 2, "offset": 2}):
            good, good_expected = contract.call(size, unpooled, dtype=dtype)
            indices = [outside.get(i, value) for i, value in enumerate(good["indices"].values)]
            arguments, expected = contract.call(size, unpooled, dtype=dtype, indices=indices)
            arguments["gradOutput"] = arguments["gradOutput"].laid_out(**gaps)
            with aclnn.prepared(contract.name, arguments) as call:
                assert call.phase2(stream) == 0, aclnn.message()
                assert aclnn.acl.aclrtSynchronizeStream(stream) == 507015
                where = place(first, arguments["indices"].shape)
                message = f"{contract.name}: indices: expected values in [0, {end}), got {outside[first]} at position {where}"
                assert aclnn.message() == message
                assert aclnn.acl.aclrtSynchronizeStream(stream) == 0
                assert call.output().elements() == [pack(dtype, value) for value in expected]
                assert call.output().is_untouched_around_its_elements()
                assert all(operand.is_untouched() for operand in call.operands() if operand is not call.output())
            assert aclnn.run(contract.name, good, stream) == [pack(dtype, value) for value in good_expected]


def test_position_of_an_index_outside_has_the_rank_of_the_argument(aclnn, stream, contract):
    size, unpooled = sizes(contract, 1, 2, 2), sizes(contract, 2, 2, 2)
    arguments, _ = contract.call(size, unpooled, lead=(2,), indices=[0, 1, 2, 3, 0, 1, 2, 9])
    with aclnn.prepared(contract.name, arguments) as call:
        assert call.phase2(stream) == 0, aclnn.message()
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 507015
        assert aclnn.message().endswith(f"got 9 at position {place(7, (2, *size))}")


def test_failure_is_first_told_by_the_synchronisation(aclnn, stream, contract):
    one = (1,) * contract.dims
    arguments, _ = contract.call(one, one, lead=(1, 1), indices=[1])
    with aclnn.prepared(contract.name, arguments) as call:
        assert call.phase2(stream) == 0
        assert aclnn.message() == ""
        assert aclnn.acl.aclrtPeekAtLastError(0) == 0
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 507015
