"""What cannot be done while a stream is captured: the code, and a message with the function and the stream."""

import ctypes
import threading
from collections.abc import Callable
from ctypes import byref, c_float, c_int, c_uint64, c_void_p

import pytest

from support.marks import of_a2_and_a3
from support.runtime import HOST_FUNCTION

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
MODES = [GLOBAL, THREAD_LOCAL, RELAXED]
UNJOINED, CAPTURED, FORBIDDEN_BY_MODE = 107025, 107027, 107030


def on_another_thread(function: Callable[[], object]) -> None:
    """Run it there, and fail as it fails."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def exchange_mode(acl, mode: int) -> int:
    value = c_int(mode)
    acl.ok("aclmdlRICaptureThreadExchangeMode", byref(value))
    return value.value


def number_of(acl, stream: int) -> int:
    number = ctypes.c_int32()
    acl.ok("aclrtStreamGetId", stream, byref(number))
    return number.value


@pytest.mark.parametrize("mode", MODES)
def test_waits_and_queries_of_the_stream_are_refused_and_the_capture_goes_on(acl, graphs, stream, event, memory, mode):
    acl.ok("aclmdlRICaptureBegin", stream, mode)
    words = f"expected one that is not captured, got stream {number_of(acl, stream)}"
    acl.refuses(CAPTURED, words, "aclrtSynchronizeStream", stream)
    acl.refuses(CAPTURED, words, "aclrtSynchronizeStreamWithTimeout", stream, 5)
    acl.refuses(CAPTURED, words, "aclrtStreamQuery", stream, byref(c_int()))
    acl.refuses(CAPTURED, words, "aclrtDestroyStream", stream)
    acl.refuses(CAPTURED, words, "aclrtResetEvent", event, stream)
    acl.refuses(CAPTURED, "expected one without a stream that is captured", "aclrtSynchronizeDevice")
    acl.refuses(CAPTURED, "expected one without a stream that is captured", "aclrtSynchronizeDeviceWithTimeout", 5)
    graphs.fill(memory, 1, 1, stream)
    graph = graphs.end(stream)
    graphs.replay(graph, stream)
    assert acl.read(memory, 1) == b"\x01"


def test_waits_and_queries_of_an_event_of_a_capture_are_refused(acl, graphs, streams, event, memory):
    with graphs.captured(streams[0]):
        graphs.fill(memory, 1, 1, streams[0])
        acl.ok("aclrtRecordEvent", event, streams[0])
        words = f"got one recorded on stream {number_of(acl, streams[0])} while that was captured"
        for name, *arguments in (
            ("aclrtSynchronizeEvent", event), ("aclrtQueryEventStatus", event, byref(c_int())), ("aclrtQueryEvent", event, byref(c_int())),
            ("aclrtQueryEventWaitStatus", event, byref(c_int())), ("aclrtEventElapsedTime", byref(c_float()), event, event),
            ("aclrtEventGetTimestamp", event, byref(c_uint64())),
        ):  # fmt: skip
            acl.refuses(CAPTURED, words, name, *arguments)
    # The event stays captured until it is recorded again.
    acl.refuses(CAPTURED, words, "aclrtSynchronizeEvent", event)
    acl.refuses(107000, "a replay does not record it", "aclrtStreamWaitEvent", streams[1], event)
    acl.ok("aclrtRecordEvent", event, streams[0])
    acl.ok("aclrtSynchronizeEvent", event)


def test_other_streams_and_events_can_be_waited_for(acl, graphs, streams, event):
    with graphs.captured(streams[0]):
        acl.ok("aclrtRecordEvent", event, streams[1])
        acl.ok("aclrtSynchronizeEvent", event)
        acl.ok("aclrtSynchronizeStream", streams[1])
        assert graphs.info(streams[0])[0] == 1


@pytest.mark.parametrize("mode", MODES)
def test_default_stream_is_out_of_bounds(acl, graphs, stream, event, memory, mode):
    callback = HOST_FUNCTION(lambda _: None)
    with graphs.captured(stream, mode):
        words = "expected another than the default stream during the capture of stream"
        acl.refuses(107000, words, "aclrtMemsetAsync", memory, 1, 0, 1, None)
        acl.refuses(107000, words, "aclrtLaunchHostFunc", None, callback, None)
        acl.refuses(107000, words, "aclrtRecordEvent", event, None)
        acl.refuses(107000, words, "aclrtSynchronizeStream", None)
        assert graphs.info(stream)[0] == 1
    acl.ok("aclrtMemsetAsync", memory, 1, 0, 1, None)
    acl.ok("aclrtSynchronizeStream", None)


@of_a2_and_a3
def test_default_stream_cannot_be_captured(acl):
    acl.refuses(107000, "expected one from aclrtCreateStream, got the default stream of device 0", "aclmdlRICaptureBegin", None, 0)


def test_capture_begins_once(acl, graphs, stream):
    with graphs.captured(stream):
        acl.refuses(CAPTURED, "expected one that is not captured", "aclmdlRICaptureBegin", stream, 0)
        assert graphs.info(stream)[0] == 1
    acl.refuses(107000, "mode: expected a value in 0..2, got 3", "aclmdlRICaptureBegin", stream, 3)


def test_capture_ends_once_and_on_its_own_stream(acl, graphs, streams, event):
    graph = c_void_p()
    acl.refuses(107000, "expected one that is captured", "aclmdlRICaptureEnd", streams[0], byref(graph))
    with graphs.captured(streams[0]):
        acl.refuses(107000, "expected one that is captured", "aclmdlRICaptureEnd", streams[1], byref(graph))
        acl.ok("aclrtRecordEvent", event, streams[0])
        acl.ok("aclrtStreamWaitEvent", streams[1], event)
        words = f"expected the one that the capture began with, stream {number_of(acl, streams[0])}"
        acl.refuses(107000, words, "aclmdlRICaptureEnd", streams[1], byref(graph))
        assert graphs.info(streams[0])[0] == 1


@pytest.mark.parametrize("mode", MODES)
def test_capture_ends_on_its_own_thread_unless_it_is_relaxed(acl, graphs, stream, mode):
    acl.ok("aclmdlRICaptureBegin", stream, mode)
    graph = c_void_p()

    def end() -> None:
        acl.ok("aclrtSetDevice", 0)
        if mode == RELAXED:
            acl.ok("aclmdlRICaptureEnd", stream, byref(graph))
        else:
            acl.refuses(107000, "calling thread: expected the one that began", "aclmdlRICaptureEnd", stream, byref(graph))

    on_another_thread(end)
    acl.ok("aclmdlRIDestroy", graph if mode == RELAXED else graphs.end(stream))


def unsafe_calls(acl, memory: int, stream: int) -> list[tuple]:
    pageable = ctypes.create_string_buffer(16)
    return [
        ("aclrtMemcpy", memory, 16, pageable, 16, 1),
        ("aclrtMemset", memory, 16, 0, 16),
        ("aclrtMemcpyAsync", memory, 16, pageable, 16, 1, stream),
    ]


@pytest.mark.parametrize("which", range(3), ids=["aclrtMemcpy", "aclrtMemset", "aclrtMemcpyAsync"])
@pytest.mark.parametrize(("mode", "forbidden"), [(GLOBAL, True), (THREAD_LOCAL, True), (RELAXED, False)])
def test_unsafe_function_of_the_capturing_thread(acl, graphs, streams, memory, mode, forbidden, which):
    name, *arguments = unsafe_calls(acl, memory, streams[1])[which]
    acl.ok("aclmdlRICaptureBegin", streams[0], mode)
    if not forbidden:
        acl.ok(name, *arguments)
        return acl.ok("aclmdlRIDestroy", graphs.end(streams[0]))
    acl.refuses(FORBIDDEN_BY_MODE, f"during the capture of stream {number_of(acl, streams[0])}", name, *arguments)
    assert graphs.info(streams[0])[0] == 2
    graphs.fails_to_end(streams[0], FORBIDDEN_BY_MODE, "failed: ")


@pytest.mark.parametrize(("mode", "own_mode", "forbidden"), [
    (GLOBAL, GLOBAL, True), (GLOBAL, THREAD_LOCAL, False), (GLOBAL, RELAXED, False),
    (THREAD_LOCAL, GLOBAL, False), (RELAXED, GLOBAL, False),
])  # fmt: skip
def test_unsafe_function_of_another_thread(acl, graphs, streams, memory, mode, own_mode, forbidden):
    def call() -> None:
        acl.ok("aclrtSetDevice", 0)
        assert exchange_mode(acl, own_mode) == GLOBAL
        name, *arguments = unsafe_calls(acl, memory, streams[1])[0]
        if forbidden:
            acl.refuses(FORBIDDEN_BY_MODE, "forbidden to this thread", name, *arguments)
        else:
            acl.ok(name, *arguments)

    acl.ok("aclmdlRICaptureBegin", streams[0], mode)
    on_another_thread(call)
    assert graphs.info(streams[0])[0] == (2 if forbidden else 1)
    if forbidden:
        return graphs.fails_to_end(streams[0], FORBIDDEN_BY_MODE, "forbidden to this thread")
    graphs.end(streams[0])


@pytest.mark.parametrize(("own_mode", "forbidden"), [(GLOBAL, True), (THREAD_LOCAL, True), (RELAXED, False)])
def test_thread_exchanges_its_mode(acl, graphs, streams, memory, own_mode, forbidden):
    acl.ok("aclmdlRICaptureBegin", streams[0], GLOBAL)
    assert exchange_mode(acl, own_mode) == GLOBAL
    try:
        name, *arguments = unsafe_calls(acl, memory, streams[1])[0]
        assert getattr(acl, name)(*arguments) == (FORBIDDEN_BY_MODE if forbidden else 0)
    finally:
        assert exchange_mode(acl, GLOBAL) == own_mode
    if forbidden:
        return graphs.fails_to_end(streams[0], FORBIDDEN_BY_MODE, "ACL_MODEL_RI_CAPTURE_MODE_GLOBAL")
    graphs.end(streams[0])
    acl.refuses(107000, "mode: expected a value in 0..2", "aclmdlRICaptureThreadExchangeMode", byref(c_int(7)))


def test_unlocked_host_memory_cannot_be_captured(acl, graphs, stream, memory):
    acl.ok("aclmdlRICaptureBegin", stream, RELAXED)
    pageable = ctypes.create_string_buffer(16)
    acl.refuses(107000, "aclrtMallocHost's, as stream", "aclrtMemcpyAsync", memory, 16, pageable, 16, 1, stream)
    graphs.fails_to_end(stream, 107000, "failed in aclrtMemcpyAsync: dst and src: expected device memory")


def test_locked_host_memory_can_be_captured(acl, graphs, stream, memory):
    locked = acl.create("aclrtMallocHost", 16)
    graph = graphs.capture(stream, lambda: acl.ok("aclrtMemcpyAsync", memory, 16, locked, 16, 1, stream))
    ctypes.memset(locked, 6, 16)
    graphs.replay(graph, stream)
    assert acl.read(memory, 16) == b"\x06" * 16
    acl.ok("aclrtFreeHost", locked)


def test_work_that_was_refused_makes_the_capture_fail(acl, graphs, stream, memory):
    acl.ok("aclmdlRICaptureBegin", stream, GLOBAL)
    acl.refuses(107000, "count: expected at most maxCount", "aclrtMemsetAsync", memory, 1, 0, 2, stream)
    assert graphs.info(stream)[0] == 2
    acl.refuses(107000, "failed in aclrtMemsetAsync: count: expected at most maxCount", "aclrtMemsetAsync", memory, 1, 0, 1, stream)
    graphs.fails_to_end(stream, 107000, "failed in aclrtMemsetAsync: count: expected at most maxCount")


def test_side_stream_that_did_not_return_is_told(acl, graphs, streams, event):
    acl.ok("aclmdlRICaptureBegin", streams[0], GLOBAL)
    acl.ok("aclrtRecordEvent", event, streams[0])
    acl.ok("aclrtStreamWaitEvent", streams[1], event)
    graphs.fails_to_end(streams[0], UNJOINED, f"stream {number_of(acl, streams[1])} joined the capture and")
    assert graphs.info(streams[1]) == (0, None)


def test_work_on_a_side_stream_after_its_return_is_told(acl, graphs, streams, events, memory):
    acl.ok("aclmdlRICaptureBegin", streams[0], GLOBAL)
    fork, join, *_ = events
    acl.ok("aclrtRecordEvent", fork, streams[0])
    acl.ok("aclrtStreamWaitEvent", streams[1], fork)
    acl.ok("aclrtRecordEvent", join, streams[1])
    acl.ok("aclrtStreamWaitEvent", streams[0], join)
    graphs.fill(memory, 1, 1, streams[1])
    graphs.fails_to_end(streams[0], UNJOINED, "did not wait for its work")


def test_wait_for_what_came_before_the_capture_is_refused(acl, graphs, streams, event):
    acl.ok("aclrtRecordEvent", event, streams[1])
    acl.ok("aclmdlRICaptureBegin", streams[0], GLOBAL)
    acl.refuses(107000, "got one recorded before or outside of it", "aclrtStreamWaitEvent", streams[0], event)
    graphs.fails_to_end(streams[0], 107000, "got one recorded before or outside of it")


def test_captures_do_not_merge(acl, graphs, streams, event):
    with graphs.captured(streams[1]):
        acl.ok("aclmdlRICaptureBegin", streams[0], GLOBAL)
        acl.ok("aclrtRecordEvent", event, streams[1])
        acl.refuses(107000, "event: expected one recorded in the capture of stream", "aclrtStreamWaitEvent", streams[0], event)
        graphs.fails_to_end(streams[0], 107000, "expected one recorded in the capture of stream")
        assert graphs.info(streams[1])[0] == 1


def test_graph_is_neither_replayed_nor_destroyed_before_its_capture_ends(acl, graphs, streams):
    with graphs.captured(streams[0]):
        _, graph = graphs.info(streams[0])
        for name, *arguments in (("aclmdlRIExecuteAsync", graph, streams[1]), ("aclmdlRIDestroy", graph), ("aclmdlRIDebugPrint", graph)):
            acl.refuses(107000, "modelRI: expected a graph whose capture has ended", name, *arguments)


def test_graph_is_not_replayed_into_a_capture(acl, graphs, streams):
    graph = graphs.capture(streams[0], lambda: None)
    with graphs.captured(streams[1]):
        acl.refuses(CAPTURED, "expected one that is not captured", "aclmdlRIExecuteAsync", graph, streams[1])


def test_stream_works_again_after_a_capture_that_failed(acl, graphs, stream, memory):
    acl.ok("aclmdlRICaptureBegin", stream, GLOBAL)
    assert acl.aclrtMemset(memory, 1, 0, 1) == FORBIDDEN_BY_MODE
    graphs.fails_to_end(stream, FORBIDDEN_BY_MODE, "synchronous copies and fills")
    graphs.fill(memory, 5, 1, stream)
    acl.ok("aclrtSynchronizeStream", stream)
    graph = graphs.capture(stream, lambda: graphs.fill(memory + 1, 6, 1, stream))
    graphs.replay(graph, stream)
    assert acl.read(memory, 2) == bytes([5, 6])


def test_replay_after_memory_was_freed_names_task_and_parameter(acl, graphs, stream, memory):
    freed = acl.create("aclrtMalloc", 64, 0)
    graph = graphs.capture(stream, lambda: graphs.copy(memory, freed, 16, stream))
    graphs.replay(graph, stream)
    acl.ok("aclrtFree", freed)
    acl.ok("aclmdlRIExecuteAsync", graph, stream)
    assert acl.aclrtSynchronizeStream(stream) == 507015
    message = acl.message()
    assert message.startswith("aclrtMemcpyAsync: src: expected 16 bytes of memory") and "freed" in message
