"""The attributes of average pooling's gradients that may be left out or shortened, and the limits that one of them has."""

import pytest

from support.comparison import assert_close
from support.contracts import POOLINGS
from support.dtypes import DType
from support.operators import GOOD
from support.tensors import but, every_tensor

of_each = pytest.mark.parametrize("contract", POOLINGS, ids=str)


@of_each
def test_short_arrays_mean_every_direction(aclnn, stream, contract):
    ones, twos, zeros = ((value,) * contract.dims for value in (1, 2, 0))
    arguments, expected = contract.call((4,) * contract.dims, twos, twos, zeros, False, True, 0, twos)
    for kernel, stride, padding in ((twos, None, zeros), (twos, (), (0,)), ((2,), (2,), (0,)), ((2,), twos, zeros), (twos, (2,), (0,))):
        short = but(arguments, kernelSize=kernel, stride=stride, padding=padding)
        assert_close(aclnn.run(contract.name, short, stream), expected, DType.FLOAT)
    kernel = (*ones[1:], 3)
    arguments, expected = contract.call((4,) * contract.dims, kernel, kernel, zeros, False, True, 0, (*(4,) * (contract.dims - 1), 1))
    assert_close(aclnn.run(contract.name, but(arguments, stride=None), stream), expected, DType.FLOAT)


def test_every_cube_math_type_computes_in_float32(aclnn, stream):
    contract = POOLINGS[0]
    _, numbers, *_ = contract.calls()
    for cube_math_type in range(4):
        arguments, expected = contract.call(*numbers)
        assert_close(aclnn.run(contract.name, but(arguments, cubeMathType=cube_math_type), stream), expected, DType.FLOAT)


@of_each
def test_a_largest_number_of_channels_is_accepted(aclnn, contract):
    shape = (1, 65535 if contract.dims == 2 else 65536, *[1] * contract.dims)
    good = GOOD[contract.name]
    with aclnn.call(contract.name, but(good, kernelSize=(1,), stride=None, **every_tensor(good, shape=shape))) as call:
        assert call.phase1() == 0, aclnn.message()
