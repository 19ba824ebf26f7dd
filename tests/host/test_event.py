"""Events: status, time and failure."""

import time
from ctypes import byref, c_float, c_int, c_uint64, c_void_p

import pytest

SYNC, TIME_LINE, EXTERNAL, IPC = 1, 8, 32, 64
CREATORS = [("aclrtCreateEvent",), ("aclrtCreateEventWithFlag", TIME_LINE), ("aclrtCreateEventExWithFlag", SYNC | TIME_LINE)]


@pytest.fixture(params=CREATORS, ids=lambda creator: creator[0])
def event(request, acl):
    handle = acl.create(*request.param)
    yield handle
    acl.ok("aclrtDestroyEvent", handle)


@pytest.fixture
def make_event(acl):
    made = []

    def make(*creator) -> int:
        made.append(acl.create(*creator))
        return made[-1]

    yield make
    for handle in made:
        acl.ok("aclrtDestroyEvent", handle)


def test_recorded_status_follows_the_record(acl, stream, event):
    status = c_int(-1)
    for expected in (0, 1):
        acl.ok("aclrtQueryEventStatus", event, byref(status))
        assert status.value == expected
        acl.ok("aclrtRecordEvent", event, stream)


def test_classic_event_has_the_older_queries_and_a_reset(acl, stream, make_event):
    event, status = make_event("aclrtCreateEvent"), c_int(-1)
    acl.ok("aclrtQueryEvent", event, byref(status))
    assert status.value == 1
    acl.ok("aclrtRecordEvent", event, stream)
    acl.ok("aclrtQueryEvent", event, byref(status))
    assert status.value == 0
    acl.ok("aclrtStreamWaitEvent", stream, event)
    acl.ok("aclrtQueryEventWaitStatus", event, byref(status))
    assert status.value == 0
    acl.ok("aclrtResetEvent", event, stream)
    acl.ok("aclrtQueryEvent", event, byref(status))
    assert status.value == 1


def test_reusable_event_has_neither(acl, stream, make_event):
    event = make_event("aclrtCreateEventExWithFlag", SYNC)
    acl.refuses(207000, "aclrtQueryEventStatus", "aclrtQueryEvent", event, byref(c_int()))
    acl.refuses(207000, "aclrtQueryEventStatus", "aclrtQueryEventWaitStatus", event, byref(c_int()))
    acl.refuses(207000, "aclrtCreateEventExWithFlag", "aclrtResetEvent", event, stream)


def test_elapsed_time_is_the_time_between(acl, stream, make_event):
    start, end = (make_event("aclrtCreateEventWithFlag", TIME_LINE) for _ in range(2))
    before = time.perf_counter()
    acl.ok("aclrtRecordEvent", start, stream)
    time.sleep(0.02)
    acl.ok("aclrtRecordEvent", end, stream)
    outside = (time.perf_counter() - before) * 1000
    there, back, times = c_float(), c_float(), [c_uint64(), c_uint64()]
    acl.ok("aclrtEventElapsedTime", byref(there), start, end)
    acl.ok("aclrtEventElapsedTime", byref(back), end, start)
    assert 20 <= there.value <= outside
    assert back.value == -there.value
    for event, microseconds in zip((start, end), times, strict=True):
        acl.ok("aclrtEventGetTimestamp", event, byref(microseconds))
    assert times[1].value - times[0].value == pytest.approx(there.value * 1000, abs=2)


def test_second_record_moves_the_time(acl, stream, event):
    times = [c_uint64(), c_uint64()]
    for microseconds in times:
        acl.ok("aclrtRecordEvent", event, stream)
        acl.ok("aclrtEventGetTimestamp", event, byref(microseconds))
        time.sleep(0.001)
    assert times[1].value > times[0].value


def test_time_needs_the_flag_and_the_record(acl, stream, make_event):
    timed, untimed, milliseconds = (make_event("aclrtCreateEvent"), make_event("aclrtCreateEventWithFlag", SYNC), c_float())
    acl.refuses(107000, "startEvent: expected a recorded event", "aclrtEventElapsedTime", byref(milliseconds), timed, timed)
    for event in (timed, untimed):
        acl.ok("aclrtRecordEvent", event, stream)
    flag = "expected an event with ACL_EVENT_TIME_LINE"
    acl.refuses(107000, f"endEvent: {flag}", "aclrtEventElapsedTime", byref(milliseconds), timed, untimed)
    acl.refuses(107000, f"event: {flag}", "aclrtEventGetTimestamp", untimed, byref(c_uint64()))


def test_event_tells_of_the_failure_before_it(acl, tasks, stream, event):
    acl.ok("aclrtRecordEvent", event, stream)
    tasks.enqueue_failing_task(stream)
    acl.ok("aclrtSynchronizeEvent", event)
    acl.ok("aclrtRecordEvent", event, stream)
    assert acl.aclrtSynchronizeEvent(event) == 500000
    assert acl.message().startswith("failingTask: ")
    acl.ok("aclrtSynchronizeEvent", event)
    acl.ok("aclrtSynchronizeStream", stream)


def test_waiting_for_a_later_record_is_refused_where_it_would_block(acl, stream, make_event):
    acl.ok("aclrtStreamWaitEvent", stream, make_event("aclrtCreateEventExWithFlag", SYNC))
    acl.refuses(207000, "event: expected a recorded event", "aclrtStreamWaitEvent", stream, make_event("aclrtCreateEvent"))
    external = make_event("aclrtCreateEventWithFlag", EXTERNAL)
    acl.refuses(207000, "event: expected a recorded event", "aclrtStreamWaitEvent", stream, external)


@pytest.mark.parametrize("name", ["aclrtCreateEventWithFlag", "aclrtCreateEventExWithFlag"])
def test_flags_are_checked(acl, name):
    acl.refuses(207000, "ACL_EVENT_IPC", name, byref(c_void_p()), IPC)
    acl.refuses(107000, "got 4096", name, byref(c_void_p()), 4096)
    acl.refuses(100000, "event: expected a value, got null", name, None, SYNC)


@pytest.mark.parametrize("call", [
    ("aclrtDestroyEvent",),
    ("aclrtRecordEvent", None),
    ("aclrtResetEvent", None),
    ("aclrtSynchronizeEvent",),
    ("aclrtQueryEvent", byref(c_int())),
    ("aclrtQueryEventStatus", byref(c_int())),
    ("aclrtQueryEventWaitStatus", byref(c_int())),
    ("aclrtEventGetTimestamp", byref(c_uint64())),
])  # fmt: skip
def test_dead_event_is_refused(acl, call):
    name, *rest = call
    dead = acl.create("aclrtCreateEvent")
    acl.ok("aclrtDestroyEvent", dead)
    acl.refuses(107017, "live event", name, dead, *rest)
    acl.refuses(100000, "event: expected a value, got null", name, None, *rest)
