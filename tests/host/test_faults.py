"""Faults on purpose: the grammar, and each kind of fault as a C program sees it."""

import ctypes
import time
from ctypes import byref, c_int, c_void_p

import pytest

OUT_OF_MEMORY, DRIVER_FAILED, STREAM_DIED, DEVICE_LOST, OPERATOR_FAILED = 207001, 507899, 507001, 507010, 507015

BAD_TEXTS = [
    "alloc", "alloc:", ":3", "alloc:0", "alloc:-1", "alloc:1.5", "alloc:x", "alloc:5-3", "alloc:%0", "alloc:%", "alloc:3=", "alloc:3=0",
    "alloc:3=1234", "alloc:3=99999999999999999999", "alloc:99999999999999999999", "alloc:3,", ",alloc:3", "alloc:3;alloc:4", "alloc :3",
    "malloc:3", "fopen:1", "@run:1", "aclnnAdd@walk:1", "aclnnAdd@result:1=500000", "aclnn Add:1",
    "stream@run:1", "=3:1", "aclrtMalloc:1:2",
]  # fmt: skip

# Each function of the runtime that can fail, with arguments. A fault comes first, so that they need not be in order.
FUNCTIONS = {
    "aclrtMalloc": (byref(c_void_p()), 512, 0),
    "aclrtMallocAlign32": (byref(c_void_p()), 512, 0),
    "aclrtMallocHost": (byref(c_void_p()), 512),
    "aclrtMallocPhysical": (byref(c_void_p()), 4096, None, 0),
    "aclrtMapMem": (None, 0, 0, None, 0),
    "aclrtMemcpy": (None, 0, None, 0, 0),
    "aclrtMemcpyAsync": (None, 0, None, 0, 0, None),
    "aclrtMemset": (None, 0, 0, 0),
    "aclrtMemsetAsync": (None, 0, 0, 0, None),
    "aclrtCreateStream": (byref(c_void_p()),),
    "aclrtCreateStreamWithConfig": (byref(c_void_p()), 0, 0),
    "aclrtStreamQuery": (None, None),
    "aclrtCreateEvent": (byref(c_void_p()),),
    "aclrtCreateEventWithFlag": (byref(c_void_p()), 1),
    "aclrtCreateEventExWithFlag": (byref(c_void_p()), 1),
    "aclrtRecordEvent": (None, None),
    "aclrtResetEvent": (None, None),
    "aclrtStreamWaitEvent": (None, None),
    "aclrtSynchronizeEvent": (None,),
    "aclrtQueryEvent": (None, None),
    "aclrtQueryEventStatus": (None, None),
    "aclrtQueryEventWaitStatus": (None, None),
    "aclrtSynchronizeStream": (None,),
    "aclrtSynchronizeStreamWithTimeout": (None, -1),
    "aclrtSynchronizeDevice": (),
    "aclrtSynchronizeDeviceWithTimeout": (-1,),
    "aclrtLaunchHostFunc": (None, ctypes.cast(None, ctypes.CFUNCTYPE(None, c_void_p)), None),
}
ALLOCATIONS = ("aclrtMalloc", "aclrtMallocAlign32", "aclrtMallocPhysical")


@pytest.fixture
def faults(acl):
    """Return a function that sets the faults, and set none afterwards."""
    yield lambda text: acl.ok("torchAclnnHostSetFaults", text.encode())
    acl.ok("torchAclnnHostSetFaults", None)


def allocations(acl, count: int) -> list[int]:
    """Return the codes of `count` allocations, whose memory is freed."""
    codes = []
    for _ in range(count):
        memory = c_void_p()
        codes.append(acl.aclrtMalloc(byref(memory), 512, 0))
        if memory.value:
            acl.ok("aclrtFree", memory)
    return codes


@pytest.mark.parametrize(
    ("when", "failing"), [("2", {2}), ("2-3", {2, 3}), ("4-", {4, 5, 6, 7}), ("%3", {3, 6}), ("7-7", {7}), ("%1", set(range(1, 8)))]
)
def test_the_calls_that_are_asked_for_fail_and_no_others(acl, faults, when, failing):
    faults(f"alloc:{when}")
    assert allocations(acl, 7) == [OUT_OF_MEMORY if number in failing else 0 for number in range(1, 8)]
    assert acl.torchAclnnHostInjectedFaults() == len(failing)


def test_the_message_and_standard_error_tell_a_fault_from_a_real_failure(acl, faults, capfd):
    faults("aclrtMalloc:1")
    assert allocations(acl, 1) == [OUT_OF_MEMORY]
    assert acl.message() == 'aclrtMalloc: a fault was injected, as "aclrtMalloc:1" asks'
    assert capfd.readouterr().err == 'torch_aclnn: fault injection, "aclrtMalloc:1", number 1: aclrtMalloc returns 207001\n'


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_returns_the_code_asked_for_and_its_own_without(acl, faults, name):
    own = OUT_OF_MEMORY if name in ALLOCATIONS else DRIVER_FAILED
    faults(f"{name}:1=500000,{name}:2")
    assert [getattr(acl, name)(*FUNCTIONS[name]) for _ in range(2)] == [500000, own]


def test_names_may_have_stars(acl, faults):
    faults("aclrt*Event:2")
    event = acl.create("aclrtCreateEvent")
    assert allocations(acl, 1) == [0]
    acl.refuses(DRIVER_FAILED, "fault", "aclrtRecordEvent", event, None)
    acl.ok("aclrtDestroyEvent", event)


def test_of_several_faults_each_counts_for_itself(acl, faults):
    faults("alloc:2=500000,alloc:3")
    assert allocations(acl, 4) == [0, 500000, OUT_OF_MEMORY, 0]


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_a_text_that_is_not_in_the_grammar_changes_nothing(acl, faults, text):
    faults("alloc:1")
    assert acl.torchAclnnHostSetFaults(text.encode()) == 100000
    message = acl.message()
    assert message.startswith("torchAclnnHostSetFaults: expected faults as <what>:<when>[=<code>]") and message.endswith(f'got "{text}"')
    assert allocations(acl, 1) == [OUT_OF_MEMORY]


def test_a_task_that_fails_is_told_at_the_synchronisation_and_what_follows_it_is_skipped(acl, tasks, stream, faults):
    counted = tasks.counted_tasks()
    faults("*Task@run:2")
    for _ in range(3):
        assert tasks.enqueue_counting_task(stream) == 0
    assert acl.aclrtSynchronizeStream(stream) == OPERATOR_FAILED
    assert acl.message() == 'countingTask: a fault was injected, as "*Task@run:2" asks'
    assert tasks.counted_tasks() == counted + 1
    assert tasks.enqueue_counting_task(stream) == 0
    acl.ok("aclrtSynchronizeStream", stream)
    assert tasks.counted_tasks() == counted + 2


def test_a_dead_stream_fails_every_task_and_leaves_the_others_alone(acl, tasks, stream, other_stream, faults):
    faults("stream:2")
    counted = tasks.counted_tasks()
    for expected in (0, STREAM_DIED, STREAM_DIED, STREAM_DIED):
        assert tasks.enqueue_counting_task(stream) == 0
        assert acl.aclrtSynchronizeStream(stream) == expected
    assert tasks.enqueue_counting_task(other_stream) == 0
    acl.ok("aclrtSynchronizeStream", other_stream)
    assert tasks.counted_tasks() == counted + 2
    assert acl.torchAclnnHostInjectedFaults() == 1


def test_a_dead_stream_can_be_destroyed_and_replaced(acl, tasks, faults):
    faults("stream:1")
    dead = acl.create("aclrtCreateStream")
    tasks.enqueue_counting_task(dead)
    assert acl.aclrtSynchronizeStream(dead) == STREAM_DIED
    acl.ok("aclrtDestroyStream", dead)
    fresh = acl.create("aclrtCreateStream")
    tasks.enqueue_counting_task(fresh)
    acl.ok("aclrtSynchronizeStream", fresh)
    acl.ok("aclrtDestroyStream", fresh)


def test_a_lost_device_fails_all_calls_until_there_are_no_faults(acl, tasks, stream, device_memory, faults):
    faults("device:1")
    event = acl.create("aclrtCreateEvent")
    assert tasks.enqueue_counting_task(stream) == 0
    lost = "is lost, as fault injection asked"
    while acl.aclrtStreamQuery(stream, byref(c_int())) != DEVICE_LOST:
        time.sleep(1e-3)  # until the stream has come to the task
    acl.refuses(DEVICE_LOST, lost, "aclrtSynchronizeStream", stream)
    acl.refuses(DEVICE_LOST, lost, "aclrtMemset", device_memory, 8, 0, 8)
    acl.refuses(DEVICE_LOST, lost, "aclrtRecordEvent", event, stream)
    assert allocations(acl, 1) == [DEVICE_LOST]
    acl.ok("aclrtDestroyEvent", event)  # functions that only release still work
    faults("")
    assert acl.aclrtSynchronizeStream(stream) == DEVICE_LOST  # the failure of the task
    acl.ok("aclrtSynchronizeStream", stream)
    assert allocations(acl, 1) == [0]


CALLS = """
memory = ctypes.c_void_p()
print([acl.aclrtSetDevice(0), *(acl.aclrtMalloc(ctypes.byref(memory), 512, 0) for _ in range(3))])
"""


def test_the_environment_asks_for_faults(run_engine):
    ended = run_engine(CALLS, TORCH_ACLNN_HOST_FAULT="alloc:2,aclrtMemcpy:5")
    assert ended.stdout == "[0, 0, 207001, 0]\n" and ended.returncode == 0
    assert ended.stderr.splitlines() == [
        'torch_aclnn: fault injection, "alloc:2", number 2: aclrtMalloc returns 207001',
        'torch_aclnn: TORCH_ACLNN_HOST_FAULT: "aclrtMemcpy:5" never happened: there were 0 such calls',
    ]


@pytest.mark.parametrize("start", ["acl.aclInit(None)", "acl.aclrtSetDevice(0)"])
def test_a_bad_setting_is_an_error_of_the_first_call(run_engine, start):
    ended = run_engine(f"print({start}, message())", TORCH_ACLNN_HOST_FAULT="alloc=3")
    code, _, message = ended.stdout.strip().partition(" ")
    assert code == "100000" and "TORCH_ACLNN_HOST_FAULT: expected faults as" in message and message.endswith('got "alloc=3"')


def test_without_faults_nothing_is_printed(run_engine):
    assert run_engine(CALLS).stderr == ""
