"""Streams: order, and failures that wait until somebody asks."""

import ctypes
import subprocess
import sys
import threading
from ctypes import byref, c_char_p, c_int, c_int32, c_uint32, c_uint64, c_void_p

import pytest

from threads import on_threads

INTERNAL_ERROR = 500000
FAILED = "failingTask: its input was not to its taste"


@pytest.fixture
def other_stream(ascendcl):
    handle = ascendcl.create("aclrtCreateStreamWithConfig", 0, 3)
    yield handle
    ascendcl.aclrtSynchronizeStream(handle)
    ascendcl.ok("aclrtDestroyStreamForce", handle)


def test_host_function_runs_in_order(ascendcl, stream, device_memory):
    seen = []

    @ctypes.CFUNCTYPE(None, c_void_p)
    def look(_):
        seen.append(ctypes.string_at(device_memory, 2))

    for value in (1, 2):
        ascendcl.ok("aclrtMemsetAsync", device_memory, 2, value, 2, stream)
        ascendcl.ok("aclrtLaunchHostFunc", stream, look, None)
    ascendcl.ok("aclrtSynchronizeStream", stream)
    assert seen == [b"\1\1", b"\2\2"]


def test_several_threads_may_launch_on_one_stream(ascendcl, tasks, stream):
    before = tasks.counted_tasks()
    on_threads(4, lambda: [tasks.enqueue_counting_task(stream) for _ in range(500)])
    assert tasks.counted_tasks() == before + 2000


@pytest.mark.parametrize("synchronize", [
    ("aclrtSynchronizeStream", True),
    ("aclrtSynchronizeStreamWithTimeout", True, 1000),
    ("aclrtSynchronizeStreamWithTimeout", True, -1),
    ("aclrtSynchronizeDevice", False),
    ("aclrtSynchronizeDeviceWithTimeout", False, 1000),
])  # fmt: skip
def test_failure_is_told_once_by_the_next_synchronisation(ascendcl, tasks, stream, synchronize):
    name, takes_stream, *timeout = synchronize
    arguments = ([stream] if takes_stream else []) + timeout
    assert tasks.enqueue_failing_task(stream) == 0
    assert ascendcl.sentence() == ""
    assert getattr(ascendcl, name)(*arguments) == 500000
    assert ascendcl.sentence() == FAILED
    ascendcl.ok(name, *arguments)


def test_exception_of_a_task_is_told_with_the_name_of_the_task(ascendcl, tasks, stream):
    tasks.enqueue_throwing_task(stream)
    assert ascendcl.aclrtSynchronizeStream(stream) == 507015
    assert ascendcl.sentence() == "throwingTask: index 7 of 3"


def test_refusal_of_a_task_keeps_its_code(ascendcl, tasks, stream):
    tasks.enqueue_refusing_task(stream)
    assert ascendcl.aclrtSynchronizeStream(stream) == 161002
    assert ascendcl.sentence() == "refusingTask: index: expected a value in 0..2, got 7"


def test_what_comes_after_a_failure_is_skipped_but_finished(ascendcl, tasks, stream, other_stream):
    counted, finished = tasks.counted_tasks(), tasks.finished_tasks()
    tasks.enqueue_failing_task(stream)
    assert tasks.enqueue_counting_task(stream) == 0
    assert (tasks.counted_tasks(), tasks.finished_tasks()) == (counted, finished + 2)
    tasks.enqueue_counting_task(other_stream)
    assert tasks.counted_tasks() == counted + 1
    assert ascendcl.aclrtSynchronizeStream(stream) == 500000
    tasks.enqueue_counting_task(stream)
    assert tasks.counted_tasks() == counted + 2


def test_first_of_several_failures_is_told(ascendcl, tasks, stream):
    tasks.enqueue_throwing_task(stream)
    tasks.enqueue_failing_task(stream)
    assert ascendcl.aclrtSynchronizeStream(stream) == 507015
    ascendcl.ok("aclrtSynchronizeStream", stream)


def test_failure_is_told_on_the_thread_that_asks(ascendcl, tasks, stream):
    told = []
    tasks.enqueue_failing_task(stream)
    thread = threading.Thread(target=lambda: told.extend([ascendcl.aclrtSynchronizeStream(stream), ascendcl.sentence()]))
    thread.start()
    thread.join()
    assert told == [500000, FAILED]
    assert ascendcl.sentence() == ""


def on_another_thread(ascendcl, function):
    """Run the function on a new thread that has chosen device 0, and return what it returns."""
    results = []
    thread = threading.Thread(target=lambda: results.extend([ascendcl.aclrtSetDevice(0), function()]))
    thread.start()
    thread.join()
    return results[1]


def test_every_thread_whose_work_was_left_out_is_told(ascendcl, tasks, stream):
    go_on = threading.Event()
    codes = []

    def lose_work():
        ascendcl.aclrtSetDevice(0)
        tasks.enqueue_counting_task(stream)
        ready.set()
        go_on.wait(10)
        codes.extend([ascendcl.aclrtSynchronizeStream(stream), ascendcl.aclrtSynchronizeStream(stream)])

    assert tasks.enqueue_failing_task(stream) == 0
    ready, other = threading.Event(), threading.Thread(target=lose_work)
    other.start()
    ready.wait(10)
    assert ascendcl.aclrtSynchronizeStream(stream) == INTERNAL_ERROR  # this thread's own failure
    assert ascendcl.aclrtSynchronizeStream(stream) == 0
    go_on.set()
    other.join()
    assert codes == [INTERNAL_ERROR, 0]


def test_the_thread_whose_work_failed_is_told_although_another_asked_first(ascendcl, tasks, stream):
    assert tasks.enqueue_failing_task(stream) == 0
    assert on_another_thread(ascendcl, lambda: ascendcl.aclrtSynchronizeStream(stream)) == INTERNAL_ERROR
    assert tasks.enqueue_counting_task(stream) == 0  # the stream goes on since somebody knows
    assert ascendcl.aclrtSynchronizeStream(stream) == INTERNAL_ERROR
    assert ascendcl.aclrtSynchronizeStream(stream) == 0


def test_a_thread_that_had_no_part_in_a_failure_is_not_told_afterwards(ascendcl, tasks, stream):
    assert tasks.enqueue_failing_task(stream) == 0
    assert ascendcl.aclrtSynchronizeStream(stream) == INTERNAL_ERROR
    assert on_another_thread(ascendcl, lambda: ascendcl.aclrtSynchronizeStream(stream)) == 0


def test_synchronous_copy_tells_of_the_default_stream(ascendcl, tasks, device_memory):
    target = ctypes.create_string_buffer(8)
    tasks.enqueue_failing_task(None)
    assert ascendcl.aclrtMemcpy(target, 8, device_memory, 8, 2) == 500000
    assert ascendcl.sentence() == FAILED
    ascendcl.ok("aclrtMemcpy", target, 8, device_memory, 8, 2)


def test_stream_that_waits_for_failed_work_does_not_go_on(ascendcl, tasks, stream, other_stream):
    event = ascendcl.create("aclrtCreateEvent")
    counted = tasks.counted_tasks()
    tasks.enqueue_failing_task(stream)
    ascendcl.ok("aclrtRecordEvent", event, stream)
    ascendcl.ok("aclrtStreamWaitEvent", other_stream, event)
    tasks.enqueue_counting_task(other_stream)
    assert tasks.counted_tasks() == counted
    assert ascendcl.aclrtSynchronizeStream(other_stream) == 500000
    ascendcl.ok("aclrtSynchronizeStream", stream)
    ascendcl.ok("aclrtDestroyEvent", event)


@pytest.mark.parametrize("end", ["acl.aclrtDestroyStream(stream)", "pass"])
def test_failure_that_nobody_asked_for_is_printed(library, tasks, end):
    code = (
        "import ctypes\n"
        f"acl, tasks = ctypes.CDLL({library._name!r}, mode=ctypes.RTLD_GLOBAL), ctypes.CDLL({tasks._name!r})\n"
        "stream = ctypes.c_void_p()\n"
        "acl.aclrtSetDevice(0); acl.aclrtCreateStream(ctypes.byref(stream)); tasks.enqueue_failing_task(stream)\n"
        f"{end}\n"
    )
    ended = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60)
    (line,) = ended.stderr.splitlines()
    assert line.endswith(f"500000, {FAILED}")
    assert ended.returncode == 0


@pytest.mark.parametrize("call", [
    ("aclrtSynchronizeStream",),
    ("aclrtDestroyStream",),
    ("aclrtDestroyStreamForce",),
    ("aclrtStreamQuery", byref(c_int())),
    ("aclrtStreamGetId", byref(c_int32())),
    ("aclrtSetStreamFailureMode", 1),
])  # fmt: skip
def test_dead_stream_is_refused(ascendcl, call):
    name, *rest = call
    dead = ascendcl.create("aclrtCreateStream")
    ascendcl.ok("aclrtDestroyStream", dead)
    ascendcl.refuses(107017, "live stream", name, dead, *rest)
    ascendcl.refuses(107017, "live stream", name, 0x1234, *rest)


def test_event_is_not_a_stream(ascendcl, tasks):
    event = ascendcl.create("aclrtCreateEvent")
    assert tasks.enqueue_counting_task(event) == 107017
    assert ascendcl.sentence().startswith("countingTask: stream: expected null or a live stream, got ")
    ascendcl.ok("aclrtDestroyEvent", event)


def test_idle_stream_is_complete_and_ids_differ(ascendcl, stream, other_stream):
    status, one, other, default = c_int(-1), c_int32(), c_int32(), c_int32()
    ascendcl.ok("aclrtStreamQuery", stream, byref(status))
    assert status.value == 0
    for handle, number in ((stream, one), (other_stream, other), (None, default)):
        ascendcl.ok("aclrtStreamGetId", handle, byref(number))
    assert len({one.value, other.value, default.value}) == 3


def test_busy_stream_is_not_ready_and_times_out(ascendcl, stream):
    started, go_on = threading.Event(), threading.Event()

    @ctypes.CFUNCTYPE(None, c_void_p)
    def stay(_):
        started.set()
        go_on.wait(10)

    thread = threading.Thread(target=ascendcl.aclrtLaunchHostFunc, args=(stream, stay, None))
    thread.start()
    assert started.wait(10)
    status = c_int(-1)
    ascendcl.ok("aclrtStreamQuery", stream, byref(status))
    assert status.value == 1
    ascendcl.refuses(107020, "still runs after 5 ms", "aclrtSynchronizeStreamWithTimeout", stream, 5)
    go_on.set()
    thread.join()
    ascendcl.ok("aclrtSynchronizeStreamWithTimeout", stream, 1000)


def test_stream_settings(ascendcl, stream):
    flag = c_uint32(7)
    ascendcl.ok("aclrtGetStreamOverflowSwitch", stream, byref(flag))
    assert flag.value == 0
    ascendcl.ok("aclrtSetStreamOverflowSwitch", stream, 1)
    ascendcl.ok("aclrtGetStreamOverflowSwitch", stream, byref(flag))
    assert flag.value == 1
    ascendcl.ok("aclrtSetStreamFailureMode", stream, 1)
    ascendcl.refuses(207000, "got 0", "aclrtSetStreamFailureMode", stream, 0)
    ascendcl.refuses(107000, "got -2", "aclrtSynchronizeStreamWithTimeout", stream, -2)


def test_calls_are_counted_by_name_and_reset(ascendcl, tasks, stream):
    def calls() -> dict[bytes, int]:
        size = ascendcl.torchAclnnHostCalls(None, None, 0)
        names, counts = (c_char_p * size)(), (c_uint64 * size)()
        assert ascendcl.torchAclnnHostCalls(names, counts, size) == size
        return dict(zip(names, counts, strict=True))

    before = calls().get(b"countingTask", 0)
    for _ in range(3):
        tasks.enqueue_counting_task(stream)
    assert calls()[b"countingTask"] == before + 3
    ascendcl.torchAclnnHostResetCalls()
    assert calls() == {}
    tasks.enqueue_counting_task(stream)
    assert calls() == {b"countingTask": 1}
