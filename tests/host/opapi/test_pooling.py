"""Attributes of average pooling's gradients: those that may be left out, limits of one of them, and cubeMathType on each product."""

import json

import pytest

from support.comparison import assert_close
from support.contracts import POOLINGS
from support.dtypes import DType
from support.entry_point import A2, A3, EDGE, PRODUCTS, UNTOLD
from support.operators import GOOD, ROWS
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


NAME = ROWS["avg_pool2d"].entry_point.name
# Every data type and value that is accepted, and the message about float32 without a down-cast.
ACCEPTED = f"""
import json
from support.dtypes import DType
from support.probe import outcome
good = GOOD[{NAME!r}]
calls = {{d: but(good, **every_tensor(good, dtype=d)) for d in (DType.FLOAT, DType.FLOAT16, DType.BF16)}}
values = {{d.name: [v for v in range(-1, 5) if outcome(client, {NAME!r}, c | {{"cubeMathType": v}})[0] == 0] for d, c in calls.items()}}
print(json.dumps([values, outcome(client, {NAME!r}, good | {{"cubeMathType": 0}})]))
"""


def test_strict_mode_refuses_for_each_data_type_what_the_page_refuses(run_client):
    values, _ = json.loads(run_client(ACCEPTED, TORCH_ACLNN_HOST_SOC="Ascend310P3", TORCH_ACLNN_HOST_MODE="strict").stdout)
    assert values == {"FLOAT": [1, 2], "FLOAT16": [1, 2], "BF16": []}


@pytest.mark.parametrize("soc", PRODUCTS)
def test_values_of_each_product(run_client, soc):
    values, (code, message) = json.loads(run_client(ACCEPTED, TORCH_ACLNN_HOST_SOC=soc).stdout)
    if soc in EDGE:
        assert values == {"FLOAT": [], "FLOAT16": [], "BF16": []}
    elif soc in A2 + A3 + UNTOLD:
        every = [0, 1, 2, 3]
        assert values == {"FLOAT": every, "FLOAT16": every, "BF16": every} and (code, message) == (0, "")
    else:
        assert values == {"FLOAT": [1, 2], "FLOAT16": [0, 1, 2, 3], "BF16": []}
        assert (code, message) == (161002, f"{NAME}: cubeMathType: expected 1 or 2 on {soc}, got 0")
