"""Threads, forks and the end of a process, in each mode of the streams."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.subprocesses import environment_with, host_mode, output_of, run_python

PROGRAMS = Path(__file__).parents[1] / "programs"
mode = pytest.mark.parametrize("settings", [
    pytest.param({}, id="default"),
    pytest.param(host_mode("async"), id="asynchronous", marks=pytest.mark.slow),
    pytest.param({"TORCH_ACLNN_HOST_DELAYS": "3"}, id="delayed", marks=pytest.mark.exhaustive),
])  # fmt: skip


def program(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(PROGRAMS / f"{name}.py"), *arguments)


@pytest.mark.parametrize("seconds", [2, pytest.param(60, marks=pytest.mark.exhaustive)])
@mode
def test_threads_share_streams_and_devices(settings, seconds):
    fewest, _ = map(int, output_of("", launcher=program("concurrency", str(seconds)), TORCH_ACLNN_HOST_DEVICES="2", **settings).split())
    assert fewest > 0


@pytest.mark.slow
@pytest.mark.parametrize("child", ["computes", "exits"])
@mode
def test_forked_process_ends_well_while_other_threads_work(settings, child):
    done = run_python("", launcher=program("forks", child, "2"), **settings)
    assert done.stdout.strip() == "{7: 2}", done.stderr


@pytest.mark.slow
@mode
def test_a_forked_process_can_do_what_is_promised(settings):
    said = json.loads(output_of("", launcher=program("child_processes"), **settings))
    assert (said["before"], said["sum_on_cpu"], said["another_program"]) == (3.0, 600.0**3, "3.0")
    assert "you must use the 'spawn' start method" in said["new_tensor"]
    assert "forked from one that uses the devices" in said["old_tensor"]


@pytest.mark.slow
@pytest.mark.parametrize("allocator", ["expandable_segments:False", "expandable_segments:True"])
@mode
def test_an_npu_tensor_in_a_queue_is_the_same_memory(settings, allocator):
    settings = settings | {"PYTORCH_NPU_ALLOC_CONF": allocator}
    assert output_of("", launcher=program("queued_tensor"), **settings) == "[[2.0, 3.0], [5.0, 6.0]]"


BEGINNING = """
import sys, threading, time, warnings, torch, torch_aclnn
warnings.filterwarnings("ignore", "Cannot create tensor with interal format")  # torch_npu 2.8, of a gradient
"""
ENDINGS = {
    "tensors are alive": "x = torch.ones(1000).npu() * 2",
    "work is pending": "x = torch.ones(300, 300).npu()\nfor _ in range(50): x = x @ x",
    "a stream is current": "torch.npu.set_stream(torch.npu.Stream()); x = torch.ones(9).npu() + 1; sys.exit()",
    "a thread works": """
def work():
    while True:
        torch.ones(9).npu() + 1
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
""",
    "a gradient was taken": "x = torch.ones(9, device='npu', requires_grad=True); x.exp().sum().backward()",
    "a backward waits": """
x = (torch.ones(9, device="npu", requires_grad=True) * 2)
x.register_hook(lambda gradient: threading.Event().wait())
threading.Thread(target=x.sum().backward, daemon=True).start()
time.sleep(0.5)
""",
    "an event is alive": "e = torch.npu.Event(); e.record(); torch.npu.Stream().wait_event(e)",
}


# Before 3.14 Python ends a daemon thread that asks for the GIL at exit by unwinding its stack, which torch's frames do not allow: a process
# whose thread uses torch on cpu alone ends like this too. Of autograd's threads the engine takes care.
UNWOUND = "terminate called without an active exception\n"
# At exit torch_npu destroys the logger of its task queue before it joins the thread that asks that logger for its level (`~Repository` in
# NPUQueue.cpp): what the freed memory holds decides whether the last messages of level INFO are printed.
EXPECTED_AT_EXIT = re.compile(r"host engine|32 padding|^I\d{4} .*NPUQueue\.cpp:\d+\] Dequeue: ")


@pytest.mark.parametrize("ending", ENDINGS)
@mode
def test_process_ends_cleanly_while(ending, settings):
    done = run_python(BEGINNING + ENDINGS[ending], **settings)
    if ending == "a thread works":  # torch_npu may tell that thread that the device is gone
        assert done.returncode == 0 or done.stderr.endswith(UNWOUND), done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not EXPECTED_AT_EXIT.search(line)] == []


def test_process_ends_cleanly_while_autograd_has_yet_to_drop_what_it_used():
    for _ in range(5):  # without the remedy about every second process ends by a signal
        done = run_python("", launcher=program("late_autograd_thread"))
        assert done.returncode == 0, done.stderr


def test_exception_in_a_thread_does_not_end_the_others():
    code = """
    import threading, torch, torch_aclnn
    x = torch.ones(4).npu()
    thread = threading.Thread(target=lambda: x.view(3))
    thread.start(); thread.join()
    print((x + 1).sum().item())
    """
    done = run_python(code)
    assert (done.returncode, done.stdout.strip()) == (0, "8.0")
    assert "Exception in thread" in done.stderr


@mode
def test_interrupt_of_a_long_operator_ends_the_process(settings):
    code = """
    import signal, torch, torch_aclnn
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores the signal
    x = torch.ones(1500, 1500).npu()
    torch.npu.synchronize()
    print("begins", flush=True)
    while True:
        (x @ x).sum().item()
    """
    running = subprocess.Popen(
        [sys.executable, "-c", "\n".join(line[4:] for line in code.splitlines())],
        env=environment_with(**settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert running.stdout is not None and running.stdout.readline() == "begins\n"
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in errors


@pytest.mark.exhaustive
def test_memory_is_flat_over_many_calls():
    """The calls are as many as in 200,000 steps of training a linear model."""
    code = """
    import os, torch, torch_aclnn
    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    x, y = torch.ones(8, 8).npu(), torch.ones(8, 8).npu()
    def calls(count):
        for _ in range(count):
            torch.addmm(y, x, x).relu_().sum()
        torch.npu.synchronize()
    calls(50_000)
    before = resident()
    calls(550_000)
    print(resident() - before)
    """
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 8 << 20
