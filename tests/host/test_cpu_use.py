"""What the engine spares the processors: threads that poll, and threads that stay behind."""

import pytest

from support.subprocesses import host_mode, output_of

COUNT_WAITS = """
import os, time, torch_aclnn, torch

def waits():
    counts = {}
    for thread in os.listdir("/proc/self/task"):
        status = dict(line.split(":\\t", 1) for line in open(f"/proc/self/task/{thread}/status").read().splitlines() if ":\\t" in line)
        counts[status["Name"]] = int(status["voluntary_ctxt_switches"])
    return counts

torch.ones(2).npu()
torch.npu.synchronize()
while "release_thread" not in waits():  # a thread names itself, once it runs
    time.sleep(0.01)
before, start = waits()["release_thread"], time.monotonic()
time.sleep(0.5)
print((waits()["release_thread"] - before) / (time.monotonic() - start))
"""
COUNT_THREADS = """
import os, time, torch_aclnn, torch
torch.set_num_threads(4)
torch.ones(2).npu()
torch.npu.synchronize()
torch.ones(1 << 20).exp()
before = len(os.listdir("/proc/self/task"))
time.sleep(0.2)  # they are ended ten times a second at most
torch.npu.synchronize()
print(before - len(os.listdir("/proc/self/task")), torch.ones(1 << 20).exp().sum().item() / (1 << 20))
"""
COUNT_THREADS_OF_STEPS = """
import os, time, torch_aclnn, torch
from torch import nn

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))  # more than processors, too; torch makes some that are not OpenMP's
before = len(os.listdir("/proc/self/task"))

def step(x, model, optimizer):
    loss = nn.functional.cross_entropy(model(x), torch.arange(512, device=x.device))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss

torch.npu.synchronize()
trained = []
for i in range(torch.npu.device_count()):
    torch.npu.set_device(i)
    model = nn.Sequential(nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU(), nn.Linear(512, 512), nn.LogSoftmax(-1))
    torch.randn(1 << 20).exp()  # in parallel
    model.npu()
    trained.append((torch.randn(512, 512).npu(), model, torch.optim.AdamW(model.parameters())))
for _ in range(3):
    time.sleep(0.2)  # those of the program's thread are ended ten times a second, if that takes long
    for x, model, optimizer in trained:
        torch.npu.set_device(x.device)
        step(x, model, optimizer).item()
print(len(os.listdir("/proc/self/task")) - before)
"""


def test_the_thread_that_releases_memory_wakes_a_thousand_times_a_second_at_most():
    assert float(output_of(COUNT_WAITS, TASK_QUEUE_ENABLE="1")) < 2000


def test_waiting_for_a_stream_ends_the_openmp_threads_of_the_thread_that_waits():
    ended, mean = output_of(COUNT_THREADS, OMP_NUM_THREADS="4").split()
    assert int(ended) == 3
    assert abs(float(mean) - 2.71828) < 1e-4


@pytest.mark.parametrize(
    ("settings", "own_threads"),
    [
        pytest.param({"TASK_QUEUE_ENABLE": "0"}, 1, id="queue 0"),
        pytest.param({"TASK_QUEUE_ENABLE": "1"}, 0, id="queue 1"),
        pytest.param({"TASK_QUEUE_ENABLE": "2"}, 0, id="queue 2"),
        pytest.param({**host_mode("async"), "TORCH_ACLNN_HOST_DEVICES": "2"}, 1, id="asynchronous, two devices"),
    ],
)
def test_a_process_has_one_team_of_openmp_threads_whoever_launches(settings, own_threads):
    alone, parallel = (int(output_of(COUNT_THREADS_OF_STEPS, OMP_NUM_THREADS=count, **settings)) for count in ("1", "4"))
    assert 1 <= parallel - alone - own_threads <= 3  # a last operator that computes on fewer threads ends the others
