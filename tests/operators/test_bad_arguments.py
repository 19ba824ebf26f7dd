"""Arguments, also drawn ones, that would make a kernel read or write outside: each is an exception, on every device."""

import itertools
import sys
from pathlib import Path

import torch_aclnn  # noqa: F401
import pytest
import torch

from support.functions import NO_UNPOOLING_WITHOUT_DATA, on_devices_in_turn
from support.marks import skip_with
from support.operators import ROWS
from support.subprocesses import run_python

DEVICES = itertools.cycle(("cpu", "npu", "meta"))
BAD = {f"{row.name}: {name}": call for row in ROWS.values() for name, call in row.operator.bad_arguments.items()}


# The checks are the same function on all devices (csrc/extension/ops/registration.h), which take turns.
@pytest.mark.parametrize(
    ("device", "call", "message"), [(device, *row) for device, row in zip(DEVICES, BAD.values(), strict=False)], ids=BAD
)
def test_bad_argument_is_refused(device, call, message):
    with pytest.raises(RuntimeError) as caught:
        call(device)
    assert message in str(caught.value)


for_each_operator_in_turn = on_devices_in_turn("operator", [row.operator for row in ROWS.values()])


@for_each_operator_in_turn
def test_result_may_not_share_memory_with_itself(device, operator):
    case = operator.out(device)
    out = torch.zeros(64, device=device).as_strided(case.size, (0,) * len(case.size))
    with pytest.raises(RuntimeError, match=f"{operator.name}_backward: out: expected elements that do not share memory"):
        case.call(case.grad, out)


@for_each_operator_in_turn
def test_result_may_not_share_memory_with_an_input(device, operator):
    case = operator.out(device)
    memory, strides = torch.ones(256, device=device), torch.empty(case.size).stride()
    given = memory.as_strided(case.grad.shape, case.grad.stride(), 3)
    out = memory.as_strided(case.size, strides, 5)
    message = f"{operator.name}_backward: out: expected memory of its own, got memory that is also that of grad_"
    with pytest.raises(RuntimeError, match=message):
        case.call(given, out)
    case.call(given, memory.as_strided(case.size, strides, 3 + case.grad.numel()))  # next to each other


def test_result_that_is_a_conjugate_view_is_refused(device):
    grad = torch.ones(1, 4, 4, dtype=torch.complex64).to(device)
    with pytest.raises(RuntimeError, match="out: expected a tensor of plain numbers, got a conjugate or negative view"):
        torch.ops.torch_aclnn.replication_pad2d_backward.out(grad, (1, 2, 2), (1, 1, 1, 1), out=torch.empty_like(grad).conj())


PROGRAM = Path(__file__).parents[1] / "support" / "hostile_arguments.py"


def run(device: str, examples: int, file: Path) -> None:
    ended = run_python("", launcher=(sys.executable, str(PROGRAM), device, str(examples), str(file)))
    last = file.read_text() if file.exists() else "none"
    assert ended.returncode == 0 and ended.stdout.endswith("ended well\n"), f"at {last}: {ended.stderr[-6000:]}"


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_hostile_arguments_raise_or_give_the_references_value(device, tmp_path):
    skip_with(*NO_UNPOOLING_WITHOUT_DATA)
    run(device, 150, tmp_path / "last_call")


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_many_hostile_arguments_raise_or_give_the_references_value(device, tmp_path):
    run(device, 3000, tmp_path / "last_call")
