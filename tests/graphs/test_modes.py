"""Replays under the engine's modes: each task of a replay is one that was launched."""

import json
import re

from support.marks import skip_with
from support.subprocesses import host_mode, run_python

START = """
import torch_aclnn, torch
x = torch.ones(64, device="npu")
torch.npu.synchronize()
graph, side = torch.npu.NPUGraph(), torch.npu.Stream()
"""
REPLAYED_TWICE = """
with torch.npu.graph(graph):
    y = x * 2
graph.replay()
graph.replay()
"""
RACE = """
with torch.npu.graph(graph):
    main = torch.npu.current_stream()
    y = x * 2
    side.wait_stream(main)
    with torch.npu.stream(side):
        z = y + 1
    y.mul_(3)
    main.wait_stream(side)
graph.replay()
"""
ORDERED = RACE.replace("    y.mul_(3)\n    main.wait_stream(side)", "    main.wait_stream(side)\n    y.mul_(3)")
SEED = "a graph's seed is written on the streams of capture and replay without an event between"
COLLECTIVE = """
import torch.distributed as dist
dist.init_process_group("hccl", init_method=f"file://{__import__('tempfile').mkdtemp()}/meeting", rank=0, world_size=1)
dist.all_reduce(x)
torch.npu.synchronize()
with torch.npu.graph(graph):
    dist.all_reduce(x)
    x.mul_(2)
for _ in range(3): graph.replay()
print(x.unique().tolist())
"""


def run(program: str, **settings: str):
    done = run_python(START + program + "\ntorch.npu.synchronize()", **settings)
    assert done.returncode == 0, done.stderr
    return done


def test_trace_has_the_tasks_of_each_replay_and_none_of_the_capture(tmp_path):
    path = tmp_path / "trace"
    run(REPLAYED_TWICE, TORCH_ACLNN_HOST_TRACE=str(path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    tasks = [line for line in lines if line["kind"] == "task" and line["name"] == "aclnnMuls"]
    calls = [line["name"] for line in lines if line["kind"] == "call"]
    assert len(tasks) == calls.count("aclmdlRIExecuteAsync") == 2
    assert "aclmdlRICaptureBegin" in calls and "aclmdlRICaptureEnd" in calls


def test_fault_is_of_a_replay():
    done = run(
        REPLAYED_TWICE.replace("graph.replay()\n", "", 1)
        + "\ntry:\n    torch.npu.synchronize()\nexcept RuntimeError as error:\n    print(error)",
        TORCH_ACLNN_HOST_FAULT="aclnnMuls@run:1",
    )
    assert "aclnnMuls" in done.stdout and "507015" in done.stdout


def reports(program: str) -> list[str]:
    done = run(program, **host_mode("check_streams"))
    return re.findall(r"TORCH_ACLNN_HOST_MODE=check_streams: (.*)", done.stderr)


def test_missing_order_within_a_graph_is_told():
    skip_with("2.9", "2.9", SEED)
    (report,) = reports(RACE)
    assert re.search(r'aclnnAdds reads "self" on stream \d+, and then aclnnInplaceMuls writes', report), report


def test_order_of_a_graph_is_known():
    skip_with("2.9", "2.9", SEED)
    assert reports(ORDERED) == []


def test_order_of_a_captured_collective_is_known():
    done = run(COLLECTIVE, **host_mode("check_streams"))
    assert done.stdout == "[8.0]\n" and "nothing orders" not in done.stderr, done.stdout + done.stderr
