"""torch.profiler and torch_npu.profiler on the engine, with their default activities."""

import json
from pathlib import Path

import pytest

from support.marks import skip_with
from support.subprocesses import host_mode, output_of, run_python

STEP = """
import sys
import torch_aclnn, torch, torch_npu

def step():
    model = torch.nn.Linear(8, 8).to("npu")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(torch.ones(4, 8, device="npu")).relu().sum().backward()
    optimizer.step()
    torch.npu.synchronize()
"""

TORCH = """
with torch.profiler.profile() as recorded:
    step()
assert any(event.key == "aten::linear" for event in recorded.key_averages())
recorded.export_chrome_trace(sys.argv[1])
"""


KERNELS = "torch_npu gives torch.profiler no kernels"


@pytest.mark.parametrize("streams", [host_mode(without=("async",)), host_mode("async")], ids=["inline", "asynchronous"])
def test_torchs_profiler_has_the_cpus_operators_and_the_kernels(tmp_path: Path, streams: dict[str, str]) -> None:
    skip_with("2.7", "2.11", KERNELS)
    file = tmp_path / "trace.json"
    code = STEP + TORCH.replace("sys.argv[1]", repr(str(file)))
    done = run_python(code, **streams)
    assert done.returncode == 0, done.stderr[-4000:]
    events = [event for event in json.loads(file.read_text())["traceEvents"] if event.get("ph") == "X"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert {"aclnnInplaceOne", "aclnnRelu"} <= {event["name"] for event in kernels}
    outer = next(event for event in events if event["name"] == "aten::linear")
    begin = min(event["ts"] for event in kernels)
    assert abs(begin - outer["ts"]) < 10e6  # both use one clock, in microseconds
    assert all(event["dur"] >= 0 and event["args"]["streamId"] >= 0 for event in kernels)


NPU = """
from torch_npu.profiler import profile, tensorboard_trace_handler
with profile(**ACTIVITIES on_trace_ready=tensorboard_trace_handler(DIRECTORY)) as recorded:
    step()
    recorded.step()
"""


def profiled_by_torch_npu(directory: Path, activities: str):
    done = run_python(STEP + NPU.replace("**ACTIVITIES", activities).replace("DIRECTORY", repr(str(directory))))
    assert done.returncode == 0, done.stderr[-4000:]
    (view,) = directory.glob("*/ASCEND_PROFILER_OUTPUT/trace_view.json")
    return done, {event["name"] for event in json.loads(view.read_text())}


@pytest.mark.slow
def test_torch_npus_profiler_records_the_cpu(tmp_path: Path) -> None:
    done, names = profiled_by_torch_npu(tmp_path, "activities=[torch_npu.profiler.ProfilerActivity.CPU],")
    assert "aten::linear" in names and "torch_aclnn: the host engine measures nothing" not in done.stderr


@pytest.mark.slow
def test_torch_npus_profiler_says_that_it_has_no_kernels(tmp_path: Path) -> None:
    done, names = profiled_by_torch_npu(tmp_path, "")
    assert "aten::linear" in names
    assert done.stderr.count("torch_aclnn: the host engine measures nothing for torch_npu.profiler") == 1
    assert "torch.profiler.profile() shows them, and so does TORCH_ACLNN_HOST_TRACE" in done.stderr


def test_each_profile_has_its_own_kernels_only_in_another_thread_too() -> None:
    skip_with("2.7", "2.11", KERNELS)
    code = (
        STEP
        + """
import concurrent.futures
def kernels():
    with torch.profiler.profile() as recorded:
        step()
    kernels = (event for event in recorded.events() if event.device_type != torch.autograd.DeviceType.CPU)
    return sum(event.name == "aclnnRelu" for event in kernels)
step()
with concurrent.futures.ThreadPoolExecutor() as threads:
    print(kernels(), threads.submit(kernels).result(), kernels())
"""
    )
    assert output_of(code).split() == ["1", "1", "1"]
