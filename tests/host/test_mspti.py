"""libmspti.so: the records of tasks that torch.profiler asks for."""

import ctypes
import time
from ctypes import CFUNCTYPE, POINTER, byref, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

import pytest
from torch_aclnn.loading.paths import libdir

KERNEL, EXTERNAL_CORRELATION = 2, 8


class Kernel(ctypes.Structure):
    _pack_ = 1
    _fields_ = (
        ("kind", ctypes.c_int),
        ("start", c_uint64),
        ("end", c_uint64),
        ("device", c_uint32),
        ("stream", c_uint32),
        ("correlation", c_uint64),
        ("type", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("padding", c_uint32),
    )


REQUEST = CFUNCTYPE(None, POINTER(POINTER(c_uint8)), POINTER(c_size_t), POINTER(c_size_t))
COMPLETE = CFUNCTYPE(None, POINTER(c_uint8), c_size_t, c_size_t)


class Profiler:
    """Asks for records as torch_npu does, in buffers of `records` records."""

    def __init__(self, records: int) -> None:
        self.library = ctypes.CDLL(str(libdir() / "libmspti.so"))
        self.library.msptiActivityIsEnabled.restype = ctypes.c_bool
        self.buffer = (c_uint8 * (records * ctypes.sizeof(Kernel)))()
        self.found: list[tuple] = []
        self.callbacks = REQUEST(self._request), COMPLETE(self._complete)  # the callbacks must outlive the profiling
        assert self.library.msptiActivityRegisterCallbacks(*self.callbacks) == 0

    def _request(self, buffer, size, most):
        buffer[0] = ctypes.cast(self.buffer, POINTER(c_uint8))
        size[0], most[0] = len(self.buffer), 0

    def _complete(self, buffer, size, valid):
        record = POINTER(Kernel)()
        while self.library.msptiActivityGetNextRecord(buffer, c_size_t(valid), byref(record)) == 0:
            kernel = record.contents
            self.found.append((kernel.kind, kernel.name, kernel.device, kernel.stream, kernel.start, kernel.end, kernel.correlation))

    def flush(self) -> list[tuple]:
        assert self.library.msptiActivityFlushAll(1) == 0
        return self.found


@pytest.fixture
def profiler(library):
    profiler = Profiler(records=3)
    yield profiler
    profiler.library.msptiActivityDisable(KERNEL)
    profiler.flush()


def fill(acl, memory, stream, times):
    for _ in range(times):
        acl.ok("aclrtMemsetAsync", memory, 64, 0, 64, stream)
    acl.ok("aclrtSynchronizeStream", stream)


def test_each_task_is_a_kernel(acl, device_memory, stream, profiler):
    assert profiler.library.msptiActivityEnable(KERNEL) == 0 and profiler.library.msptiActivityIsEnabled(KERNEL)
    before = time.time_ns()
    fill(acl, device_memory, stream, times=7)  # more records than a buffer holds
    after = time.time_ns()
    found = profiler.flush()
    number = ctypes.c_int32()
    acl.ok("aclrtStreamGetId", stream, byref(number))
    assert [kernel[:4] for kernel in found] == [(KERNEL, b"aclrtMemsetAsync", 0, number.value)] * 7
    times = [time for kernel in found for time in kernel[4:6]]
    assert times == sorted(times) and before - 10**6 <= times[0] and times[-1] <= after + 10**6
    assert len({kernel[6] for kernel in found}) == 7
    assert profiler.flush() == found  # each record comes once


def test_nothing_is_recorded_before_and_after(acl, device_memory, stream, profiler):
    fill(acl, device_memory, stream, times=1)
    assert profiler.library.msptiActivityEnable(KERNEL) == 0 and profiler.library.msptiActivityDisable(KERNEL) == 0
    fill(acl, device_memory, stream, times=1)
    assert not profiler.library.msptiActivityIsEnabled(KERNEL) and profiler.flush() == []


def test_other_kinds_are_taken_and_have_no_records(acl, device_memory, stream, profiler):
    assert profiler.library.msptiActivityEnable(EXTERNAL_CORRELATION) == 0
    fill(acl, device_memory, stream, times=1)
    assert profiler.flush() == [] and profiler.library.msptiActivityDisable(EXTERNAL_CORRELATION) == 0


def test_null_pointers_are_refused(profiler):
    for function, arguments in (
        ("msptiSubscribe", (None, None, None)),
        ("msptiUnsubscribe", (None,)),
        ("msptiActivityRegisterCallbacks", (None, None)),
        ("msptiActivityGetNextRecord", (None, c_size_t(0), None)),
        ("msptiActivityPopExternalCorrelationId", (0, None)),
    ):
        assert getattr(profiler.library, function)(*arguments) != 0, function
    subscriber = c_void_p()
    assert profiler.library.msptiSubscribe(byref(subscriber), None, None) == 0 and subscriber
    assert profiler.library.msptiUnsubscribe(subscriber) == 0
