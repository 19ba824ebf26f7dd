"""Streams: the order of what runs on them, their handles and settings."""

import ctypes
import threading
from ctypes import byref, c_int, c_int32, c_uint32, c_void_p

import pytest

from support.threads import on_threads


def test_host_function_runs_in_order(acl, stream, device_memory, host_memory):
    seen = []

    @ctypes.CFUNCTYPE(None, c_void_p)
    def look(_):
        seen.append(ctypes.string_at(host_memory, 2))

    for value in (1, 2):
        acl.ok("aclrtMemsetAsync", device_memory, 2, value, 2, stream)
        acl.ok("aclrtMemcpyAsync", host_memory, 2, device_memory, 2, 2, stream)
        acl.ok("aclrtLaunchHostFunc", stream, look, None)
    acl.ok("aclrtSynchronizeStream", stream)
    assert seen == [b"\1\1", b"\2\2"]


def test_several_threads_may_launch_on_one_stream(acl, tasks, stream):
    before = tasks.counted_tasks()
    on_threads(4, lambda: [tasks.enqueue_counting_task(stream) for _ in range(500)])
    assert tasks.counted_tasks() == before + 2000


@pytest.mark.parametrize("call", [
    ("aclrtSynchronizeStream",),
    ("aclrtDestroyStream",),
    ("aclrtDestroyStreamForce",),
    ("aclrtStreamQuery", byref(c_int())),
    ("aclrtStreamGetId", byref(c_int32())),
    ("aclrtSetStreamFailureMode", 1),
])  # fmt: skip
def test_dead_stream_is_refused(acl, call):
    name, *rest = call
    dead = acl.create("aclrtCreateStream")
    acl.ok("aclrtDestroyStream", dead)
    acl.refuses(107017, "live stream", name, dead, *rest)
    acl.refuses(107017, "live stream", name, 0x1234, *rest)


def test_event_is_not_a_stream(acl, tasks):
    event = acl.create("aclrtCreateEvent")
    assert tasks.enqueue_counting_task(event) == 107017
    assert acl.message().startswith("countingTask: stream: expected null or a live stream, got ")
    acl.ok("aclrtDestroyEvent", event)


def test_idle_stream_is_complete_and_ids_differ(acl, stream, other_stream):
    status, one, other, default = c_int(-1), c_int32(), c_int32(), c_int32()
    acl.ok("aclrtStreamQuery", stream, byref(status))
    assert status.value == 0
    for handle, number in ((stream, one), (other_stream, other), (None, default)):
        acl.ok("aclrtStreamGetId", handle, byref(number))
    assert len({one.value, other.value, default.value}) == 3


def test_busy_stream_is_not_ready_and_times_out(acl, stream):
    started, go_on = threading.Event(), threading.Event()

    @ctypes.CFUNCTYPE(None, c_void_p)
    def stay(_):
        started.set()
        go_on.wait(10)

    thread = threading.Thread(target=acl.aclrtLaunchHostFunc, args=(stream, stay, None))
    thread.start()
    assert started.wait(10)
    status = c_int(-1)
    acl.ok("aclrtStreamQuery", stream, byref(status))
    assert status.value == 1
    acl.refuses(107020, "still runs after 5 ms", "aclrtSynchronizeStreamWithTimeout", stream, 5)
    go_on.set()
    thread.join()
    acl.ok("aclrtSynchronizeStreamWithTimeout", stream, 1000)


def test_stream_settings(acl, stream):
    flag = c_uint32(7)
    acl.ok("aclrtGetStreamOverflowSwitch", stream, byref(flag))
    assert flag.value == 0
    acl.ok("aclrtSetStreamOverflowSwitch", stream, 1)
    acl.ok("aclrtGetStreamOverflowSwitch", stream, byref(flag))
    assert flag.value == 1
    acl.ok("aclrtSetStreamFailureMode", stream, 1)
    acl.refuses(207000, "got 0", "aclrtSetStreamFailureMode", stream, 0)
    acl.refuses(107000, "got -2", "aclrtSynchronizeStreamWithTimeout", stream, -2)
