"""cubeMathType of aclnnAvgPool2dBackward: which values each product takes for which data type; every case is a process of its own."""

import json

import pytest

from support.entry_point import A2, A3, EDGE, PRODUCTS, UNTOLD
from support.operators import ROWS

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
