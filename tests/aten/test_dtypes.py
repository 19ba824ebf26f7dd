"""What an adapter takes: the documented types of its tensors, by product and setting."""

import ctypes
from pathlib import Path

import pytest
import torch
import torch_npu
from checks import DEVICE
from torch.nn import functional
from torch_aclnn.host.data_types import TYPES
from torch_aclnn.host.registry import entry_points

from direct import refusal
from support.marks import of_a2_and_a3, refused_at_once
from support.subprocesses import host_mode, output_of


@refused_at_once
@of_a2_and_a3
def test_another_type_is_refused_on_its_line():
    x = torch.ones(2, 2, dtype=torch.float64).to(DEVICE)
    with pytest.raises(RuntimeError, match=r"aclnnMm: self: expected a data type of FLOAT, FLOAT16, BF16 on Ascend910B3.*, got DOUBLE"):
        torch.mm(x, x)


def test_each_member_of_a_list_counts():
    good, bad = torch.ones(2, device=DEVICE), torch.ones(2, dtype=torch.int64, device=DEVICE)
    code, message = refusal("aclnnForeachSqrt", (good, bad), (good, bad))
    assert code == 161002 and "x: expected a data type of FLOAT, FLOAT16" in message
    assert message.endswith("got INT64 (not implemented for DT_INT64)")


HALF, FLOAT, BF16 = (torch.ones(1, 1, 2, 2, dtype=dtype, device=DEVICE) for dtype in (torch.float16, torch.float32, torch.bfloat16))
ATTENTION = torch_npu.npu_fusion_attention


@refused_at_once
@of_a2_and_a3
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: torch_npu.npu_add_rms_norm(HALF, FLOAT, HALF[0, 0, 0]), "x2: expected the data type of x1, FLOAT16, got FLOAT"),
        (lambda: ATTENTION(HALF, FLOAT, HALF, 1, "BNSD"), "key: expected the data type of query, FLOAT16, got FLOAT"),
        (lambda: functional.layer_norm(FLOAT, (2,), BF16[0, 0, 0]), "weight: expected the data type of input, FLOAT, got BF16"),
        (lambda: functional.grid_sample(FLOAT, HALF.mT), "grid: expected the data type of input, FLOAT, got FLOAT16"),
    ],
)
def test_further_tensors_count(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_types_that_torch_npu_passes_together_are_taken():
    assert torch_npu.npu_rms_norm(HALF, FLOAT[0, 0, 0])[0].dtype == torch.float16
    assert functional.layer_norm(HALF, (2,), FLOAT[0, 0, 0]).dtype == torch.float16
    assert (HALF + torch.ones(2, dtype=torch.int32, device=DEVICE)).dtype == torch.float16


def test_null_is_reported_before_the_type():
    x = torch.ones(2, 2, dtype=torch.float64).to(DEVICE)
    assert refusal("aclnnMv", x, None, x[0], ctypes.c_int8(0))[0] == 161001
    assert refusal("aclnnForeachSqrt", None, None)[0] == 161001


ATTEMPT = """
import torch_aclnn, torch

def attempt(function, *inputs):
    try:
        result = function(*(x.npu() for x in inputs))
        return result.dtype
    except RuntimeError as error:
        return str(error).split("expected", 1)[1].splitlines()[0]
"""


def test_float64_is_taken_with_float32_where_the_setting_says_so():
    code = ATTEMPT + "print(attempt(torch.mm, *[torch.ones(2, 2, dtype=torch.float64)] * 2))"
    assert output_of(code, **host_mode("float64", without=("strict", "unspecified"))) == "torch.float64"
    assert output_of(code, **host_mode(without=("float64", "strict", "unspecified"))).endswith(
        ", or DOUBLE with TORCH_ACLNN_HOST_MODE=float64, got DOUBLE (not implemented for DT_DOUBLE)"
    )


@pytest.mark.parametrize(("call", "settings"), [
    ("torch.bitwise_not, torch.ones(2, dtype=torch.float64)", {}),
    ("torch.bitwise_not, torch.ones(2, dtype=torch.float64)", host_mode("float64", without=("strict", "unspecified"))),
    ("torch.mm, *[torch.ones(2, 2, dtype=torch.int32)] * 2", {}),
    ("torch.mm, *[torch.ones(2, 2, dtype=torch.float64)] * 2", host_mode("strict")),
])  # fmt: skip
def test_the_float64_setting_is_named_only_where_it_helps(call, settings):
    refusal = output_of(ATTEMPT + f"print(attempt({call}))", **settings)
    assert "got " in refusal and "=float64" not in refusal


REFUSED = "got BF16 (not implemented for DT_BFLOAT16)"


@pytest.mark.parametrize(
    ("soc", "answer"),
    [("Ascend310P3", REFUSED), ("Ascend310B1", REFUSED), ("Ascend910B3", "torch.bfloat16"), ("Ascend910_9391", "torch.bfloat16")],
)
def test_bfloat16_is_taken_from_a2_on(soc, answer):
    code = ATTEMPT + "b = torch.ones(2, dtype=torch.bfloat16); print(attempt(torch.clone, b)); print(attempt(torch.add, b.float(), b))"
    first, second = output_of(code, TORCH_ACLNN_HOST_SOC=soc).splitlines()
    assert first.endswith(answer) and second.endswith(answer.replace("bfloat16", "float32"))
    assert "FLOAT8" not in first  # the 950 alone has these types


# Calls as a C program makes them. The first ones depend on the product, the others on strict mode.
CALLS = f"""
import sys; sys.path += [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
import torch, torch_aclnn
from ctypes import c_int8
from direct import refusal

def zeros(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype).npu()

heads, absent, cell, average = (1, 1, 2, 2), [None] * 11, (1, 2, 1, 1, 1), ([2, 2], [2, 2], [0, 0], False, True, 0)
calls = [
    ("aclnnMm", zeros(2, 2), zeros(2, 2), zeros(2, 2), c_int8(0)),
    ("aclnnMm", zeros(2, 2), zeros(2, 2), zeros(2, 2), c_int8(2)),
    ("aclnnMaxPool2dWithMask", zeros(1, 4, 4), [2, 2], [2, 2], [0, 0], [2, 2], False, zeros(1, 1, 1), zeros(1, 4, 32, dtype=torch.int8)),
    (
        "aclnnFlashAttentionScoreGradV2",
        *(zeros(*heads) for _ in range(4)), *absent, 1.0, 1.0, 9, 9, 1, b"BNSD", 0, 0, 0, *(zeros(*heads) for _ in range(3)), None,
    ),
    *(
        ("aclnnAvgPool2d", zeros(1, 4, 4, dtype=dtype), *average, c_int8(cube), zeros(1, 2, 2, dtype=dtype))
        for dtype, cube in ((torch.float32, 0), (torch.float16, 1), (torch.float32, 1))
    ),
    *(
        ("aclnnMaxUnpool3d", zeros(*cell), zeros(*cell, dtype=dtype), [2, 2, 2], [2, 2, 2], [0, 0, 0], zeros(1, 2, 2, 2, 2))
        for dtype in (torch.int64, torch.int32, torch.float32)
    ),
]
for call in calls:
    print(*filter(None, map(str, refusal(*call))))
"""


def test_what_products_and_strict_mode_refuse():
    refused = [
        "161002 aclnnMm: cubeMathType: expected another value than 0 for FLOAT on Ascend310P3, got 0",
        "0",
        "161002 aclnnMaxPool2dWithMask: dilation: expected 1, as TORCH_ACLNN_HOST_MODE=strict asks, got [2, 2]",
        "161002 aclnnFlashAttentionScoreGradV2: pseType: expected 1 for BNSD without realShift, as "
        "TORCH_ACLNN_HOST_MODE=strict asks, got 0",
        *["0"] * 4,
        "161002 aclnnMaxUnpool3d: indices: expected INT64, as TORCH_ACLNN_HOST_MODE=strict asks, got INT32",
        "161002 aclnnMaxUnpool3d: indices: expected a data type of INT32, INT64 on Ascend310P3, got FLOAT (not implemented for DT_FLOAT)",
    ]
    lines = {
        soc: output_of(CALLS, TORCH_ACLNN_HOST_SOC=soc, **settings).splitlines()
        for soc, settings in (
            ("Ascend310P3", host_mode("strict", without=("unspecified",))),
            ("Ascend910B3", host_mode(without=("strict", "unspecified"))),
        )
    }
    assert lines["Ascend310P3"] == refused
    assert lines["Ascend910B3"] == [
        *["0"] * 6, "161002 aclnnAvgPool2d: cubeMathType: expected 0 for FLOAT on Ascend910B3, got 1", "0", "0",
        "161002 aclnnMaxUnpool3d: indices: expected a data type of INT32, INT64 on Ascend910B3, got FLOAT (not implemented for DT_FLOAT)",
    ]  # fmt: skip


def test_in_place_nothing_is_taken_that_is_not_taken_otherwise():
    # Both versions have one page.
    found = {entry_point.name: entry_point.data_types for entry_point in entry_points()}
    for name, taken in found.items():
        more = taken - found.get(otherwise := name.replace("Inplace", ""), taken)
        types = [type for type, number in TYPES.items() if number in more]
        assert not more, f"{name} takes {types}, which the record of {otherwise} does not list: state them in the `types` of both"
