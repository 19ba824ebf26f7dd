"""The state of the device that torch_npu's own operators keep for each call, and ours with them."""

import ctypes
import re

import torch_aclnn  # noqa: F401
import pytest
import torch

from support.subprocesses import EACH_FUNCTION, host_mode, output_of

DETERMINISTIC = 0  # ACL_OPT_DETERMINISTIC


def option():
    value = ctypes.c_int64(-1)
    assert ctypes.CDLL("libascendcl.so").aclrtCtxGetSysParamOpt(DETERMINISTIC, ctypes.byref(value)) == 0
    return value.value


@pytest.fixture
def deterministic():
    yield torch.use_deterministic_algorithms
    torch.use_deterministic_algorithms(False)


def test_the_deterministic_switch_is_that_of_the_moment(deterministic):
    gradient = torch.ones(1, 1, 2, 2).npu()
    for wanted in (True, False, True, False):
        deterministic(wanted)
        torch.ops.torch_aclnn.adaptive_avg_pool2d_backward(gradient, (1, 1, 4, 4))
        assert option() == wanted


NEVER_ASKED_FOR = """
import ctypes, torch_aclnn, torch
gradient = torch.ones(1, 1, 2, 2).npu()
runtime = ctypes.CDLL("libascendcl.so")
runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
runtime.aclGetRecentErrMsg()
torch.ops.torch_aclnn.adaptive_avg_pool2d_backward(gradient, (1, 1, 4, 4))
print(runtime.aclGetRecentErrMsg())
"""


def test_the_switch_is_not_asked_for_where_nobody_has_set_it():
    """The query fails there, and its message would take the place of another."""
    assert output_of(NEVER_ASKED_FOR, TASK_QUEUE_ENABLE="2") == "b''"


BEHIND_OTHERS = """
import torch_aclnn, torch
x, gradient = torch.ones(1 << 22).npu(), torch.ones(1, 1, 2, 2).npu()
for deterministic in (False, True, False):  # the first time imports and allocates, for which the queue is emptied
    torch_aclnn.host.reset()
    for _ in range(20):
        y = x.sin()
    torch.use_deterministic_algorithms(deterministic)
    torch.ops.torch_aclnn.adaptive_avg_pool2d_backward(gradient, (1, 1, 4, 4))
    print(torch_aclnn.host.statistics().calls.get("aclnnSin", 0))
    torch.npu.synchronize()
"""


def test_operators_that_are_queued_still_have_their_own_deterministic_switch():
    """A queued operator sets the switch to its value at the call, so it must be done before ours sets the switch."""
    assert output_of(BEHIND_OTHERS, TASK_QUEUE_ENABLE="2").split()[1:] == ["20", "20"]


TRAIN = (
    EACH_FUNCTION
    + """
for case in CASES * 5:
    gradient(case.ours, *case.inputs("npu"))
try:
    torch.ops.torch_aclnn.avg_pool2d_backward(torch.ones(2, 3, 8, 8).npu(), (2, 3, 16, 16), (2, 2), divisor_override=300)
except RuntimeError:
    pass
torch.npu.synchronize()
print("ends", flush=True)
"""
)


@pytest.mark.parametrize("settings", [{"TASK_QUEUE_ENABLE": mode} for mode in "012"] + [{"ASCEND_LAUNCH_BLOCKING": "1"}], ids=str)
def test_every_handle_lives_until_phase_2_and_none_is_left(settings):
    printed = output_of(f"import os; os.dup2(1, 2)\n{TRAIN}", **host_mode("leaks"), **settings)  # the list is on standard error
    assert "ends" in printed and not re.search("not (destroyed|freed) before", printed)


@pytest.mark.parametrize("settings", [{"TASK_QUEUE_ENABLE": mode} for mode in "012"], ids=str)
def test_the_workspace_lives_until_phase_2(settings):
    assert output_of(TRAIN, **host_mode("workspace"), **settings) == "ends"


NO_MEMORY = """
import ctypes, os; os.dup2(1, 2)
import torch_aclnn, torch
gradient = torch.ones(1, 1, 2, 2).npu()
torch.npu.synchronize()
with torch_aclnn.host.inject("alloc:2-"):  # the workspace, after the result
    try:
        torch.ops.torch_aclnn.adaptive_avg_pool2d_backward(gradient, (1, 1, 4, 4))
    except RuntimeError as error:
        assert "207001" in str(error)
print(torch.ops.torch_aclnn.adaptive_avg_pool2d_backward(gradient, (1, 1, 4, 4)).sum().item())
runtime = ctypes.CDLL("libascendcl.so")
runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
print(runtime.aclGetRecentErrMsg(), flush=True)  # of a destruction that was refused
"""


@pytest.mark.parametrize("cached", ["0", "1"])
def test_an_executor_that_is_not_run_is_destroyed_unless_the_librarys_cache_has_it(cached):
    modes = {**host_mode("leaks", "workspace"), "PYTORCH_NO_NPU_MEMORY_CACHING": "1"}
    printed = output_of(NO_MEMORY, ACLNN_CACHE_LIMIT=cached, **modes)
    assert printed.splitlines().count("4.0") == 1 and not re.search("not (destroyed|freed) before|made again", printed)
