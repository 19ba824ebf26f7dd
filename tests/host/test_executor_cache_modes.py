"""The cache of executors in the modes of torch_npu's queue and of the engine's streams, its limit, and what it keeps."""

import pytest

from support.marks import host_engine_only
from support.subprocesses import host_mode, output_of

pytestmark = host_engine_only

REPEAT = """
import torch_aclnn, torch
x = torch.arange(16.0).view(1, 1, 4, 4).npu()
gradient = torch.ones(1, 1, 2, 2).npu()
out, other = torch.empty_like(x), torch.empty_like(x)
torch.npu.synchronize()
for call in (
    lambda: torch.ops.torch_aclnn.avg_pool2d_backward.out(gradient, (1, 1, 4, 4), (2, 2), out=out),
    lambda: torch.exp(x, out=other),
):
    before = torch_aclnn.host.statistics().cache_hits
    for _ in range(3):
        call()
        torch.npu.synchronize()
    print(torch_aclnn.host.statistics().cache_hits - before)
gradient.fill_(4)
torch.ops.torch_aclnn.avg_pool2d_backward.out(gradient, (1, 1, 4, 4), (2, 2), out=out)
print(out.unique().tolist())
"""


STEPS = """
import torch_aclnn, torch
x = torch.ones(2).npu()
before = torch_aclnn.host.statistics().cache_hits
for step in range(10):
    [x.exp(), *(x + number for number in range(8 * step, 8 * step + 8))]
print(torch_aclnn.host.statistics().cache_hits - before)
"""


@pytest.mark.parametrize("queue", ["1", "0", "2"])
@pytest.mark.parametrize("streams", [host_mode(without=("async",)), host_mode("async")], ids=["inline", "asynchronous"])
def test_a_call_made_again_takes_the_executor_and_reads_what_is_in_memory_now(queue, streams):
    printed = output_of(REPEAT, TASK_QUEUE_ENABLE=queue, **streams)
    assert printed.splitlines()[-3:] == ["2", "2", "[1.0]"]


@pytest.mark.parametrize(("limit", "hits"), [("0", "0"), ("1", "2")])
def test_the_limit_is_that_of_the_environment(limit, hits):
    assert output_of(REPEAT, ACLNN_CACHE_LIMIT=limit).splitlines()[-3] == hits


def test_calls_with_other_numbers_at_each_step_leave_the_others_there():
    printed = output_of(STEPS, ACLNN_CACHE_LIMIT="40")
    assert printed.splitlines()[-1] == "9"


def test_nothing_of_it_counts_as_a_leak():
    assert "torch_aclnn: not destroyed" not in output_of(REPEAT, **host_mode("leaks"))
