"""Tasks that fail: who is told of it, when, and what is skipped."""

import ctypes
import threading

import pytest

INTERNAL_ERROR = 500000
FAILED = "failingTask: its input was refused"


@pytest.mark.parametrize("synchronize", [
    ("aclrtSynchronizeStream", True),
    ("aclrtSynchronizeStreamWithTimeout", True, 1000),
    ("aclrtSynchronizeStreamWithTimeout", True, -1),
    ("aclrtSynchronizeDevice", False),
    ("aclrtSynchronizeDeviceWithTimeout", False, 1000),
])  # fmt: skip
def test_failure_is_told_once_by_the_next_synchronisation(acl, tasks, stream, synchronize):
    name, takes_stream, *timeout = synchronize
    arguments = ([stream] if takes_stream else []) + timeout
    assert tasks.enqueue_failing_task(stream) == 0
    assert acl.message() == ""
    assert getattr(acl, name)(*arguments) == 500000
    assert acl.message() == FAILED
    acl.ok(name, *arguments)


def test_exception_of_a_task_is_told_with_the_name_of_the_task(acl, tasks, stream):
    tasks.enqueue_throwing_task(stream)
    assert acl.aclrtSynchronizeStream(stream) == 507015
    assert acl.message() == "throwingTask: index 7 of 3"


def test_refusal_of_a_task_keeps_its_code(acl, tasks, stream):
    tasks.enqueue_refusing_task(stream)
    assert acl.aclrtSynchronizeStream(stream) == 161002
    assert acl.message() == "refusingTask: index: expected a value in 0..2, got 7"


def test_what_comes_after_a_failure_is_skipped_but_finished(acl, tasks, stream, other_stream):
    counted, finished = tasks.counted_tasks(), tasks.finished_tasks()
    tasks.enqueue_failing_task(stream)
    assert tasks.enqueue_counting_task(stream) == 0
    tasks.enqueue_counting_task(other_stream)
    acl.ok("aclrtSynchronizeStream", other_stream)
    assert acl.aclrtSynchronizeStream(stream) == 500000
    assert (tasks.counted_tasks(), tasks.finished_tasks()) == (counted + 1, finished + 3)
    tasks.enqueue_counting_task(stream)
    acl.ok("aclrtSynchronizeStream", stream)
    assert tasks.counted_tasks() == counted + 2


def test_first_of_several_failures_is_told(acl, tasks, stream):
    tasks.enqueue_throwing_task(stream)
    tasks.enqueue_failing_task(stream)
    assert acl.aclrtSynchronizeStream(stream) == 507015
    acl.ok("aclrtSynchronizeStream", stream)


def test_failure_is_told_on_the_thread_that_asks(acl, tasks, stream):
    told = []
    tasks.enqueue_failing_task(stream)
    thread = threading.Thread(target=lambda: told.extend([acl.aclrtSynchronizeStream(stream), acl.message()]))
    thread.start()
    thread.join()
    assert told == [500000, FAILED]
    assert acl.message() == ""


def on_another_thread(acl, function):
    """Run the function on a new thread that has chosen device 0, and return what it returns."""
    results = []
    thread = threading.Thread(target=lambda: results.extend([acl.aclrtSetDevice(0), function()]))
    thread.start()
    thread.join()
    return results[1]


def test_every_thread_whose_work_was_left_out_is_told(acl, tasks, stream):
    go_on = threading.Event()
    codes = []

    def lose_work():
        acl.aclrtSetDevice(0)
        tasks.enqueue_counting_task(stream)
        ready.set()
        go_on.wait(10)
        codes.extend([acl.aclrtSynchronizeStream(stream), acl.aclrtSynchronizeStream(stream)])

    assert tasks.enqueue_failing_task(stream) == 0
    ready, other = threading.Event(), threading.Thread(target=lose_work)
    other.start()
    ready.wait(10)
    assert acl.aclrtSynchronizeStream(stream) == INTERNAL_ERROR  # the failure of this thread
    assert acl.aclrtSynchronizeStream(stream) == 0
    go_on.set()
    other.join()
    assert codes == [INTERNAL_ERROR, 0]


def test_the_thread_whose_work_failed_is_told_although_another_asked_first(acl, tasks, stream):
    assert tasks.enqueue_failing_task(stream) == 0
    assert on_another_thread(acl, lambda: acl.aclrtSynchronizeStream(stream)) == INTERNAL_ERROR
    assert tasks.enqueue_counting_task(stream) == 0  # accepted again, since a thread was told of the failure
    assert acl.aclrtSynchronizeStream(stream) == INTERNAL_ERROR
    assert acl.aclrtSynchronizeStream(stream) == 0


def test_a_thread_that_had_no_part_in_a_failure_is_not_told_afterwards(acl, tasks, stream):
    assert tasks.enqueue_failing_task(stream) == 0
    assert acl.aclrtSynchronizeStream(stream) == INTERNAL_ERROR
    assert on_another_thread(acl, lambda: acl.aclrtSynchronizeStream(stream)) == 0


def test_synchronous_copy_tells_of_the_default_stream(acl, tasks, device_memory):
    target = ctypes.create_string_buffer(8)
    tasks.enqueue_failing_task(None)
    assert acl.aclrtMemcpy(target, 8, device_memory, 8, 2) == 500000
    assert acl.message() == FAILED
    acl.ok("aclrtMemcpy", target, 8, device_memory, 8, 2)


def test_stream_that_waits_for_failed_work_does_not_go_on(acl, tasks, stream, other_stream):
    event = acl.create("aclrtCreateEvent")
    counted = tasks.counted_tasks()
    tasks.enqueue_failing_task(stream)
    acl.ok("aclrtRecordEvent", event, stream)
    acl.ok("aclrtStreamWaitEvent", other_stream, event)
    tasks.enqueue_counting_task(other_stream)
    assert tasks.counted_tasks() == counted
    assert acl.aclrtSynchronizeStream(other_stream) == 500000
    acl.ok("aclrtSynchronizeStream", stream)
    acl.ok("aclrtDestroyEvent", event)


@pytest.mark.parametrize("end", ["acl.aclrtDestroyStream(stream)", "pass"])
def test_failure_that_nobody_asked_for_is_printed(run_engine, tasks, end):
    ended = run_engine(
        "acl.aclrtSetDevice(0); stream = acl.create('aclrtCreateStream')\n"
        f"ctypes.CDLL({tasks._name!r}).enqueue_failing_task(ctypes.c_void_p(stream))\n{end}"
    )
    (line,) = ended.stderr.splitlines()
    assert line.endswith(f"500000, {FAILED}")
    assert ended.returncode == 0
