"""What torch_npu's own operators set up around each call, and whether ours do: seen from an operator library that has the functions."""

import sys
from pathlib import Path

import pytest

from support.compiler import shared_library
from support.subprocesses import output_of

CALL = """
import torch_aclnn, torch
gradient = torch.ones(1, 1, 2, 2).npu()
torch.npu.synchronize()
print("begin", flush=True)
{call}
torch.npu.synchronize()
print("end", flush=True)
"""
OURS = "torch.ops.torch_aclnn.adaptive_avg_pool2d_backward(gradient, (1, 1, 4, 4))"
THROWS = """
try:
    torch.ops.torch_aclnn.avg_pool2d_backward(gradient, (1, 1, 4, 4), (2, 2), divisor_override=300)
except RuntimeError as error:
    assert "161002" in str(error)
"""


@pytest.fixture(scope="module")
def observer(toolkit, tmp_path_factory):
    """Return the environment in which torch_npu finds the functions in a custom operator library."""
    directory = tmp_path_factory.mktemp("observer")
    library = directory / "op_api" / "lib" / "libcust_opapi.so"
    library.parent.mkdir(parents=True)
    source = Path(__file__).with_name("observer.cpp")
    shared_library(source, library)
    return {"TORCH_ACLNN_ENGINE": "cann", "ASCEND_CUSTOM_OPP_PATH": str(directory)}


def observed(call, launcher, **environment):
    """Return the calls between begin and end, in order."""
    printed = output_of(CALL.format(call=call), launcher=(*launcher, sys.executable, "-c"), **environment)
    return printed.split("begin\n")[1].split("end")[0].splitlines()


@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_memory_and_cache_key_are_set_up_around_the_phases(sourced, observer, queue):
    lines = observed(OURS, sourced, TASK_QUEUE_ENABLE=queue, **observer)
    of_the_caller = [line.split()[0] for line in lines if line.endswith("on main")]
    released = [line for line in lines if line.startswith("ReleaseHugeMem")]
    assert [name for name in of_the_caller if name != "ReleaseHugeMem"] == [
        "UnInitPTACacheThreadLocal",  # no key of another operator, which one that threw may have left
        "InitHugeMemThreadLocal",
        "UnInitHugeMemThreadLocal",
        "UnInitPTACacheThreadLocal",
    ]
    # ReleaseHugeMem is called by the thread that calls phase 2.
    assert released == ["ReleaseHugeMem on main" if queue == "0" else "ReleaseHugeMem on another thread"]


def test_a_call_that_throws_in_phase_1_leaves_nothing_behind(sourced, observer):
    lines = observed(THROWS, sourced, TASK_QUEUE_ENABLE="1", **observer)
    assert lines[-2:] == ["UnInitHugeMemThreadLocal on main", "UnInitPTACacheThreadLocal on main"]
    assert not any(line.startswith("ReleaseHugeMem") for line in lines)
