"""Streams that run their work later, called as a C program would call them. Prints as JSON what came of each case.

Callbacks of the program stand for long work: they block until the program lets them go on.
"""

import ctypes
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager

from support.runtime import HOST_FUNCTION, Runtime

acl = Runtime(sys.argv[1])
callbacks: list[object] = []  # kept while a stream may still call them


def launch(stream: int, function: Callable[[], object]) -> None:
    callback = HOST_FUNCTION(lambda _: function() and None)
    callbacks.append(callback)
    acl.ok("aclrtLaunchHostFunc", stream, callback, None)


@contextmanager
def blocked(stream: int):
    """Have the stream wait until the end of the block."""
    go_on = threading.Event()
    launch(stream, go_on.wait)
    try:
        yield
    finally:
        go_on.set()


def is_over(stream: int) -> bool:
    found = ctypes.c_int(-1)
    acl.ok("aclrtStreamQuery", stream, ctypes.byref(found))
    return found.value == 0  # ACL_STREAM_STATUS_COMPLETE


def is_reached(event: int) -> bool:
    found = ctypes.c_int(-1)
    acl.ok("aclrtQueryEventStatus", event, ctypes.byref(found))
    return found.value == 1  # ACL_EVENT_RECORDED_STATUS_COMPLETE


def new_stream() -> int:
    return acl.create("aclrtCreateStream")


def new_event() -> int:
    return acl.create("aclrtCreateEvent")


def queries() -> list[bool]:
    stream, event = new_stream(), new_event()
    with blocked(stream):
        acl.ok("aclrtRecordEvent", event, stream)
        found = [is_over(stream), is_reached(event)]
    acl.ok("aclrtSynchronizeEvent", event)
    return [*found, is_over(stream), is_reached(event)]


def order_on_one_stream() -> list[int]:
    stream, seen = new_stream(), []
    for number in range(1000):
        launch(stream, lambda number=number: seen.append(number))
    acl.ok("aclrtSynchronizeStream", stream)
    return seen


def order_by_an_event() -> list[str]:
    first, second, event, seen = new_stream(), new_stream(), new_event(), []
    with blocked(first):
        launch(first, lambda: seen.append("first"))
        acl.ok("aclrtRecordEvent", event, first)
        acl.ok("aclrtStreamWaitEvent", second, event)
        launch(second, lambda: seen.append("second"))
        time.sleep(0.05)
        seen.append("released")
    acl.ok("aclrtSynchronizeStream", second)
    return seen


def wait_is_for_the_record_before_it() -> list[bool]:
    """The event is recorded again, elsewhere, while a stream waits for its first record."""
    first, second, other, event = new_stream(), new_stream(), new_stream(), new_event()
    with blocked(first):
        acl.ok("aclrtRecordEvent", event, first)
        acl.ok("aclrtStreamWaitEvent", second, event)
        acl.ok("aclrtRecordEvent", event, other)
        acl.ok("aclrtSynchronizeEvent", event)
        found = [is_reached(event), is_over(second)]
    acl.ok("aclrtSynchronizeStream", second)
    return [*found, is_over(second)]


def elapsed() -> float:
    stream, begin, end, milliseconds = new_stream(), new_event(), new_event(), ctypes.c_float()
    acl.ok("aclrtRecordEvent", begin, stream)
    launch(stream, lambda: time.sleep(0.05))
    acl.ok("aclrtRecordEvent", end, stream)
    acl.ok("aclrtSynchronizeStream", stream)
    acl.ok("aclrtEventElapsedTime", ctypes.byref(milliseconds), begin, end)
    return milliseconds.value


def timeout() -> list[object]:
    stream = new_stream()
    with blocked(stream):
        code = acl.aclrtSynchronizeStreamWithTimeout(stream, 20)
        message = acl.message()
    return [code, message, acl.aclrtSynchronizeStreamWithTimeout(stream, 60_000)]


def destroyed_while_busy(function: str) -> list[str]:
    stream, seen = new_stream(), []
    launch(stream, lambda: (time.sleep(0.05), seen.append("ran")))
    acl.ok(function, stream)
    return [*seen, "destroyed"]


def launched_by_a_callback() -> list[str]:
    stream, seen = new_stream(), []
    launch(stream, lambda: launch(stream, lambda: seen.append("inner")))
    for _ in range(2):  # the first call may come before the inner launch
        acl.ok("aclrtSynchronizeStream", stream)
    return seen


def freed_before_use() -> list[object]:
    stream, memory = new_stream(), acl.create("aclrtMalloc", 4096, 0)
    with blocked(stream):
        acl.ok("aclrtMemsetAsync", memory, 4096, 1, 4096, stream)
        acl.ok("aclrtFree", memory)
    return [acl.aclrtSynchronizeStream(stream), acl.message()]


def far_ahead() -> int:
    """More launches than a stream's queue takes."""
    stream, count = new_stream(), 0
    memory = acl.create("aclrtMalloc", 16, 0)
    for _ in range(40_000):
        count += acl.aclrtMemsetAsync(memory, 16, 1, 16, stream) == 0
    acl.ok("aclrtSynchronizeStream", stream)
    return count


def forked() -> list[object]:
    stream = new_stream()
    launch(stream, lambda: None)
    acl.ok("aclrtSynchronizeStream", stream)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = acl.aclrtSynchronizeStream(stream)
        os.write(writing, json.dumps([code, acl.message(), acl.aclFinalize()]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return json.loads(os.read(reading, 1000))


acl.ok("aclInit", None)
acl.ok("aclrtSetDevice", 0)
results = {
    "queries": queries(),
    "order on one stream": order_on_one_stream(),
    "order by an event": order_by_an_event(),
    "wait is for the record before it": wait_is_for_the_record_before_it(),
    "elapsed": elapsed(),
    "timeout": timeout(),
    "destroyed while busy": [destroyed_while_busy(name) for name in ("aclrtDestroyStream", "aclrtDestroyStreamForce")],
    "launched by a callback": launched_by_a_callback(),
    "freed before use": freed_before_use(),
    "far ahead": far_ahead(),
    "forked": forked(),
}
print(json.dumps(results), flush=True)
last = new_stream()
if sys.argv[2:] == ["end busy"]:  # the process waits for running tasks, and for later ones
    launch(last, lambda: time.sleep(0.1))
    acl.ok("aclrtMemsetAsync", acl.create("aclrtMalloc", 16, 0), 16, 1, 16, last)
