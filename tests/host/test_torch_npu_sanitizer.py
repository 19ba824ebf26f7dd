"""torch_npu's own TORCH_NPU_SANITIZER on the engine: it reports two streams that touch a tensor without an event between them."""

import os

import pytest

from support.marks import UNSPECIFIED
from support.subprocesses import run_python

pytestmark = pytest.mark.skipif(
    UNSPECIFIED and os.environ.get("TASK_QUEUE_ENABLE") == "2",
    reason="in queue mode 2 torch_npu's check waits for the queue on the queue's own thread as soon as an operator needs a workspace",
)

# The second stream reads what the first has written; `order` stands between the two.
PROGRAM = """
import torch_aclnn
import torch

written = torch.ones(1000, device="npu")
side = torch.npu.Stream()
{order}
with torch.npu.stream(side):
    {use}
torch.npu.synchronize()
print("not reported")
"""
EVENT = "event = torch.npu.Event(); event.record(); side.wait_event(event)"
WRITE = "written.mul_(2)"
READ = "torch.ops.torch_aclnn.adaptive_avg_pool2d_backward(written.view(1, 10, 10, 10), (1, 10, 20, 20))"


def run(order: str, use: str):
    return run_python(PROGRAM.format(order=order, use=use), TORCH_NPU_SANITIZER="1")


@pytest.mark.parametrize("use", [pytest.param(WRITE, marks=pytest.mark.slow), READ], ids=["torch's operator", "our operator"])
def test_race_of_two_streams_is_reported(use):
    ended = run("pass", use)
    assert ended.returncode != 0 and "not reported" not in ended.stdout
    assert "CSAN detected a possible data race on tensor with data pointer" in ended.stderr
    assert "torch.cuda._sanitizer.CUDASanitizerErrors: detected 1 errors" in ended.stderr


def test_streams_with_an_event_between_are_not_reported():
    ended = run(EVENT, READ + "; " + WRITE)
    assert (ended.returncode, ended.stdout.strip()) == (0, "not reported"), ended.stderr[-2000:]
    assert "CSAN" not in ended.stderr
