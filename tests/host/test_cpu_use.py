"""What the engine spares the processors: threads that poll, and threads that stay behind."""

from support.subprocesses import output_of

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
time.sleep(0.2)  # they are ended ten times a second at most
torch.ones(1 << 20).exp()
before = len(os.listdir("/proc/self/task"))
torch.npu.synchronize()
print(before - len(os.listdir("/proc/self/task")), torch.ones(1 << 20).exp().sum().item() / (1 << 20))
"""


def test_the_thread_that_releases_memory_wakes_a_thousand_times_a_second_at_most():
    assert float(output_of(COUNT_WAITS, TASK_QUEUE_ENABLE="1")) < 2000


def test_waiting_for_a_stream_ends_the_openmp_threads_of_the_thread_that_waits():
    ended, mean = output_of(COUNT_THREADS, OMP_NUM_THREADS="4").split()
    assert int(ended) == 3
    assert abs(float(mean) - 2.71828) < 1e-4
