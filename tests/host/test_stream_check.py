"""Programs that forget to wait: TORCH_ACLNN_HOST_MODE=check_streams names them, and TORCH_ACLNN_HOST_DELAYS gives wrong results."""

import json
import re

import pytest

from support.marks import needs_stack_of_python
from support.subprocesses import host_mode, output_of, run_python

START = """
import torch, torch_aclnn
x = torch.full((64, 64), 3.0).npu()
torch.npu.synchronize()
main, side = torch.npu.current_stream(), torch.npu.Stream()
y = x * 2
"""
EVENT_IS_MISSING = r"""
with torch.npu.stream(side):
    z = y + 1
"""
ORDERED = """
side.wait_stream(main)
with torch.npu.stream(side):
    z = y + 1
main.wait_stream(side)
z.add_(1)
"""
RECORD_STREAM_IS_MISSING = """
side.wait_stream(main)
with torch.npu.stream(side):
    z = y + 1
del y
w = x * 3
"""
RECORDED = RECORD_STREAM_IS_MISSING.replace("del y", "y.record_stream(side); del y")
SYNCHRONISED = "torch.npu.synchronize()" + EVENT_IS_MISSING
POLLED = "done = torch.npu.Event(); done.record()\nwhile not done.query(): pass" + EVENT_IS_MISSING
BOTH_READ = EVENT_IS_MISSING.replace("y + 1", "x + 1")
ALL_REDUCE = """
import torch.distributed as dist
dist.init_process_group("hccl", init_method=f"file://{__import__('tempfile').mkdtemp()}/meeting", rank=0, world_size=1)
work = dist.all_reduce(y, async_op=True)
"""


def reports_of(program: str) -> list[str]:
    done = run_python(START + program + "\ntorch.npu.synchronize()", **host_mode("check_streams"))
    assert done.returncode == 0, done.stderr
    return re.findall(r"TORCH_ACLNN_HOST_MODE=check_streams: (.*)", done.stderr)


@pytest.mark.parametrize(("program", "first", "second", "missing"), [
    (EVENT_IS_MISSING, 'aclnnMuls writes "out"', 'aclnnAdds reads "self"', "an event is missing, or a synchronisation"),
    (RECORD_STREAM_IS_MISSING, 'aclnnAdds reads "self"', 'aclnnMuls writes "out"', "record_stream is missing"),
    pytest.param(ALL_REDUCE + "y.add_(1)", 'HcclAllReduce writes "recvBuf"', "InplaceAdds", "an event is missing", marks=pytest.mark.slow),
], ids=["event", "record_stream", "collective"])  # fmt: skip
def test_unordered_use_is_told_with_both_operators_and_what_is_missing(program, first, second, missing):
    (report,) = reports_of(program)[:1]
    assert re.search(rf"{first} on stream \d+, and then .*{second}.* on stream \d+; .*{missing}", report), report


@needs_stack_of_python
def test_unordered_use_is_told_with_the_lines_of_both():
    printed = run_python(START + EVENT_IS_MISSING + "\ntorch.npu.synchronize()", **host_mode("check_streams")).stderr
    assert re.findall(r'torch_aclnn: the (\w+) was called from\nStack .*\n  File "<string>", line (\d+)', printed) == [
        ("first", "6"), ("second", "9")
    ], printed  # fmt: skip


MORE_ORDERED = (SYNCHRONISED, POLLED, BOTH_READ, ALL_REDUCE + "work.wait(); y.add_(1)")


@pytest.mark.parametrize("program", [
    ORDERED, RECORDED, *(pytest.param(program, marks=pytest.mark.slow) for program in MORE_ORDERED),
], ids=["event", "record_stream", "synchronisation", "query", "two readers", "collective"])  # fmt: skip
def test_ordered_uses_are_left_alone(program):
    assert reports_of(program) == []


@pytest.mark.slow
def test_training_is_left_alone():
    done = run_python(
        """
        import torch, torch_aclnn
        from torch import nn
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10)).npu()
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.randn(4, 3, 8, 8).pin_memory().npu(non_blocking=True)).square().mean().backward()
            optimizer.step()
        torch.npu.synchronize()
        """,
        **host_mode("check_streams"),
    )
    assert done.returncode == 0, done.stderr
    assert "check_streams" not in done.stderr


HANDED_OVER = """
import json, torch, torch_aclnn
x, y = torch.full((64,), 3.0).npu(), torch.zeros(64).npu()
torch.npu.synchronize()
main, side = torch.npu.current_stream(), torch.npu.Stream()
found = []
for _ in range(20):
    y.zero_()
    torch.npu.synchronize()
    torch.mul(x, 2, out=y)
    {wait}
    with torch.npu.stream(side):
        z = y + 1
    side.synchronize()
    found.append(z[0].item())
    torch.npu.synchronize()
print(json.dumps(found))
"""


def found_with(wait: str, **settings: str) -> list[float]:
    return json.loads(output_of(HANDED_OVER.format(wait=wait), **settings))


def test_forgotten_wait_gives_the_same_wrong_results_each_time():
    first, again = (found_with("pass", TORCH_ACLNN_HOST_DELAYS="5") for _ in range(2))
    assert first == again
    assert set(first) == {1.0, 7.0}


def test_delays_do_no_harm_to_a_program_that_waits():
    assert found_with("side.wait_stream(main)", TORCH_ACLNN_HOST_DELAYS="5") == [7.0] * 20


@pytest.mark.slow
def test_forgotten_wait_goes_unnoticed_without_delays():
    """Why there are delays: work that runs where it is launched is never too early."""
    assert found_with("pass") == [7.0] * 20
