"""quant_alltoall_matmul.cpp against definitions in float64."""

import pytest
import torch
from checks import DEVICE

from direct import refusal
from support.communicator import one_rank
from support.marks import of_the_950

pytestmark = of_the_950

OWN = b"a rank alone"


@pytest.mark.parametrize(("change", "message"), [
    ({"permuteOut": torch.float8_e5m2}, "permuteOut: expected rows of FLOAT8_E4M3FN, as gmmX has, got FLOAT8_E5M2"),
    ({"gmmXScale": torch.uint8}, "gmmXScale: expected a data type of FLOAT, FLOAT8_E8M0"),
    ({"gmmXQuantMode": 1}, "gmmWeightQuantMode: expected a value in 1..1, got 6"),
    ({"groupSize": 32}, "groupSize: expected 0, or 1, 1 and 32, got 32"),
])  # fmt: skip
def test_what_does_not_fit_the_rows_of_experts_is_refused(change, message):
    def made(shape, dtype):
        return torch.zeros(shape, dtype=torch.uint8, device=DEVICE).view(dtype)

    mode = change.get("gmmXQuantMode", 6)
    arguments = [
        made((2, 64), torch.float8_e4m3fn), made((1, 64, 3), torch.float8_e4m3fn),
        made((2, 1, 2), change.get("gmmXScale", torch.float8_e8m0fnu)), made((1, 1, 3, 2), torch.float8_e8m0fnu), *[None] * 6,
        mode, 6, 0, 0, OWN, 1, [2], [2], False, False, change.get("groupSize", 0), True, torch.empty(2, 3, device=DEVICE).half(), None,
        made((2, 64), change.get("permuteOut", torch.float8_e4m3fn)),
    ]  # fmt: skip
    with one_rank(OWN):
        code, text = refusal("aclnnAlltoAllvQuantGroupedMatMul", *arguments)
    assert code == 161002 and message in text
