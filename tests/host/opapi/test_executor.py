"""The two phases and what carries a call from one to the other."""

import ctypes
import threading
from ctypes import c_void_p

import pytest

from support.dtypes import DType, numbers, pack
from support.operators import GOOD, ROWS
from support.status import INVALID, NULL, RUNTIME_ERROR
from support.tensors import Tensor, but

AVG_POOL2D = ROWS["avg_pool2d"].entry_point.name
BATCH_NORM_ELEMT = ROWS["batch_norm_elemt"].entry_point.name
EVERY_OPERATOR = pytest.mark.parametrize("entry_point", GOOD)

# One window over the whole plane: each element of the result is the mean gradient of its channel.
MEAN = but(GOOD[AVG_POOL2D], gradOutput=Tensor((1, 2, 1, 1), values=[4, 8]), self=Tensor((1, 2, 2, 2)), gradInput=Tensor((1, 2, 2, 2)))


def floats(*values):
    return [pack(DType.FLOAT, value) for value in values]


@EVERY_OPERATOR
def test_phase_2_needs_an_executor(aclnn, stream, entry_point):
    assert getattr(aclnn.opapi, entry_point)(None, 0, None, stream) == NULL
    assert aclnn.message() == f"{entry_point}: executor: expected a value, got null"


@EVERY_OPERATOR
def test_phase_2_needs_the_workspace_that_it_is_told_of_and_can_be_called_again(aclnn, stream, entry_point):
    expected = aclnn.run(entry_point, GOOD[entry_point], stream)
    with aclnn.prepared(entry_point, GOOD[entry_point]) as call:
        assert call.phase2(stream, workspace=None, size=32) == NULL
        assert aclnn.message() == f"{entry_point}: workspace: expected 32 bytes, got null"
        assert call.output().is_untouched()
        call.finish(stream)
        assert call.output().elements() == expected


@EVERY_OPERATOR
def test_workspace_that_nobody_asked_for_is_left_alone(aclnn, stream, entry_point):
    workspace = ctypes.create_string_buffer(b"\x5a" * 64, 64)
    with aclnn.prepared(entry_point, GOOD[entry_point]) as call:
        assert call.workspace_size.value == 0
        assert call.phase2(stream, ctypes.addressof(workspace), 64) == 0, aclnn.message()
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 0
    assert workspace.raw == b"\x5a" * 64


@EVERY_OPERATOR
def test_phase_1_computes_nothing(aclnn, entry_point):
    with aclnn.prepared(entry_point, GOOD[entry_point]) as call:
        assert all(operand.is_untouched() for operand in call.operands())


@EVERY_OPERATOR
def test_phase_2_may_run_on_another_thread(aclnn, stream, entry_point):
    expected = aclnn.run(entry_point, GOOD[entry_point], stream)
    codes = []
    with aclnn.prepared(entry_point, GOOD[entry_point]) as call:
        thread = threading.Thread(target=lambda: codes.extend([aclnn.acl.aclrtSetDevice(0), call.phase2(stream)]))
        thread.start()
        thread.join()
        assert codes == [0, 0]
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 0
        assert call.output().elements() == expected


def test_message_of_phase_2_is_told_on_its_own_thread(aclnn):
    seen = []

    def fail_elsewhere():
        seen.extend([getattr(aclnn.opapi, AVG_POOL2D)(None, 0, None, None), aclnn.message()])

    thread = threading.Thread(target=fail_elsewhere)
    thread.start()
    thread.join()
    assert seen == [NULL, f"{AVG_POOL2D}: executor: expected a value, got null"]
    assert aclnn.message() == ""


@EVERY_OPERATOR
def test_stream_that_is_none_is_a_runtime_error(aclnn, entry_point):
    with aclnn.prepared(entry_point, GOOD[entry_point]) as call:
        assert call.phase2(stream=64) == RUNTIME_ERROR
        message = aclnn.message()
        assert message.startswith(f"{entry_point}: stream")
        assert call.output().is_untouched()


def test_null_stream_is_the_default_stream(aclnn):
    assert aclnn.run(AVG_POOL2D, MEAN, stream=None) == floats(*[1] * 4, *[2] * 4)


def test_executors_may_be_interleaved(aclnn, stream):
    other = but(MEAN, gradOutput={"values": [40, 80]})
    with aclnn.call(AVG_POOL2D, MEAN) as first, aclnn.call(AVG_POOL2D, other) as second:
        assert first.phase1() == second.phase1() == 0
        assert second.phase2(stream) == first.phase2(stream) == 0
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 0
        assert first.output().elements() == floats(*[1] * 4, *[2] * 4)
        assert second.output().elements() == floats(*[10] * 4, *[20] * 4)


def test_device_memory_as_arguments(aclnn, acl, stream, device_memory):
    gradient = ctypes.create_string_buffer(b"".join(floats(4, 8)), 8)
    acl.ok("aclrtMemcpy", device_memory, 8, gradient, 8, 1)
    arguments = but(MEAN, gradOutput={"values": None, "address": device_memory})
    arguments = but(arguments, gradInput={"address": device_memory, "offset": 16, "storage": (24,)})
    aclnn.run(AVG_POOL2D, arguments, stream)
    result = ctypes.create_string_buffer(32)
    acl.ok("aclrtMemcpy", result, 32, device_memory + 64, 32, 2)
    assert result.raw == b"".join(floats(*[1] * 4, *[2] * 4))


@pytest.fixture
def repeatable(aclnn, stream):
    """A call of MEAN whose executor is repeatable and has run once."""
    with aclnn.prepared(AVG_POOL2D, MEAN) as call:
        executor = call.executor
        assert aclnn.opapi.aclSetAclOpExecutorRepeatable(executor) == 0
        assert call.phase2(stream) == 0, aclnn.message()
        call.executor = executor  # still ours, and destroyed at the end of the block
        assert aclnn.acl.aclrtSynchronizeStream(stream) == 0
        assert call.output().elements() == floats(*[1] * 4, *[2] * 4)
        yield call


def run_again(aclnn, call, stream):
    assert getattr(aclnn.opapi, call.entry_point)(None, 0, call.executor, stream) == 0, aclnn.message()
    assert aclnn.acl.aclrtSynchronizeStream(stream) == 0


def test_repeatable_executor_reads_its_arguments_anew(aclnn, stream, repeatable):
    repeatable["gradOutput"].write([12, 16])
    run_again(aclnn, repeatable, stream)
    assert repeatable.output().elements() == floats(*[3] * 4, *[4] * 4)


@pytest.mark.parametrize(("set_input", "input_index", "set_output", "output_index"), [
    ("aclSetInputTensorAddr", 0, "aclSetOutputTensorAddr", 0),
    ("aclSetTensorAddr", 0, "aclSetTensorAddr", 2),
], ids=["inputs and outputs", "all tensors in one count"])  # fmt: skip
def test_repeatable_executor_takes_new_addresses(aclnn, stream, repeatable, set_input, input_index, set_output, output_index):
    other = but(MEAN, gradOutput={"values": [40, 80]})
    with aclnn.call(AVG_POOL2D, other) as elsewhere:
        for function, index, name in ((set_input, input_index, "gradOutput"), (set_output, output_index, "gradInput")):
            handle, address = repeatable[name].handle, elsewhere[name].address
            assert getattr(aclnn.opapi, function)(repeatable.executor, index, handle, address) == 0, aclnn.message()
        before = repeatable.output().bytes()
        run_again(aclnn, repeatable, stream)
        assert elsewhere.output().elements() == floats(*[10] * 4, *[20] * 4)
        assert elsewhere.output().is_untouched_around_its_elements()
        assert repeatable.output().bytes() == before


def test_new_address_is_the_one_of_the_storage(aclnn, stream):
    arguments = but(MEAN, gradOutput={"offset": 3})
    replacement = numbers(5, DType.FLOAT)
    memory = aclnn.allocate(20)
    aclnn.acl.write(memory, b"".join(floats(*replacement)))
    with aclnn.prepared(AVG_POOL2D, arguments) as call:
        handle = call["gradOutput"].handle
        assert aclnn.opapi.aclSetInputTensorAddr(call.executor, 0, handle, memory) == 0
        call.finish(stream)
        assert call.output().elements() == floats(*[replacement[3] / 4] * 4, *[replacement[4] / 4] * 4)
    aclnn.free(memory)


def test_new_address_must_be_device_memory(aclnn, stream, repeatable):
    memory = ctypes.create_string_buffer(64)
    handle = repeatable["gradOutput"].handle
    assert aclnn.opapi.aclSetInputTensorAddr(repeatable.executor, 0, handle, ctypes.addressof(memory)) == INVALID
    assert aclnn.message().startswith("aclSetInputTensorAddr: addr: expected device memory, got")
    run_again(aclnn, repeatable, stream)  # runs with the old address


@pytest.mark.parametrize(("function", "index"), [
    ("aclSetInputTensorAddr", 2), ("aclSetOutputTensorAddr", 1), ("aclSetTensorAddr", 3), ("aclSetTensorAddr", 2**63),
])  # fmt: skip
def test_address_of_an_argument_that_is_not_there_is_refused(aclnn, repeatable, function, index):
    handle = repeatable["gradOutput"].handle
    assert getattr(aclnn.opapi, function)(repeatable.executor, index, handle, 64) == INVALID
    assert aclnn.message() == f"{function}: index: expected an argument of {AVG_POOL2D}, got {index}"


def test_address_of_an_argument_that_was_null_is_refused(aclnn):
    with aclnn.prepared(BATCH_NORM_ELEMT, GOOD[BATCH_NORM_ELEMT] | {"weight": None}) as call:
        assert aclnn.opapi.aclSetInputTensorAddr(call.executor, 4, call["mean"].handle, 64) == INVALID
        assert aclnn.message().endswith("got 4")


@pytest.mark.parametrize("null", ["executor", "tensor", "addr"])
@pytest.mark.parametrize("function", ["aclSetInputTensorAddr", "aclSetOutputTensorAddr", "aclSetTensorAddr"])
def test_null_for_a_new_address_is_refused(aclnn, repeatable, function, null):
    arguments = {"executor": repeatable.executor, "index": 0, "tensor": repeatable["gradOutput"].handle, "addr": 64}
    assert getattr(aclnn.opapi, function)(*(arguments | {null: None}).values()) == NULL
    assert aclnn.message() == f"{function}: {null}: expected a value, got null"


def test_null_cannot_be_made_repeatable(aclnn):
    assert aclnn.opapi.aclSetAclOpExecutorRepeatable(None) == NULL
    assert aclnn.message() == "aclSetAclOpExecutorRepeatable: executor: expected a value, got null"


def test_executor_that_never_ran_can_be_destroyed(aclnn):
    with aclnn.prepared(AVG_POOL2D, MEAN) as call:
        assert aclnn.opapi.aclDestroyAclOpExecutor(call.executor) == 0
        call.executor = c_void_p()
        assert call.output().is_untouched()


DESTROYED_WHILE_IT_WAITS = """
import threading, time
from support.runtime import HOST_FUNCTION
from support.dtypes import DType, pack
AVG_POOL2D = "aclnnAvgPool2dBackward"
MEAN = but(
    GOOD[AVG_POOL2D], gradOutput=Tensor((1, 2, 1, 1), values=[4, 8]), self=Tensor((1, 2, 2, 2)), gradInput=Tensor((1, 2, 2, 2))
)
stream = client.acl.create("aclrtCreateStream")
go_on = threading.Event()
wait = HOST_FUNCTION(lambda _: go_on.wait() and None)
with client.prepared(AVG_POOL2D, MEAN) as call:
    assert client.opapi.aclSetAclOpExecutorRepeatable(call.executor) == 0
    executor = call.executor
    client.acl.ok("aclrtLaunchHostFunc", stream, wait, None)
    codes = []
    thread = threading.Thread(target=lambda: codes.append(call.phase2(stream)))
    thread.start()
    time.sleep(0.1)
    codes.append(client.opapi.aclDestroyAclOpExecutor(executor))
    for _ in range(100):  # others take its place, if it is free
        with client.prepared(AVG_POOL2D, but(MEAN, gradOutput={"values": [0, 0]})):
            pass
    go_on.set()
    thread.join()
    call.executor = None
    print(codes, call.output().elements() == [pack(DType.FLOAT, value) for value in (1, 1, 1, 1, 2, 2, 2, 2)])
"""


def test_repeatable_executor_may_be_destroyed_while_another_threads_phase_2_waits(run_client):
    done = run_client(DESTROYED_WHILE_IT_WAITS, TORCH_ACLNN_HOST_MODE="async")
    assert (done.returncode, done.stdout) == (0, "[0, 0] True\n"), done.stderr


def test_little_address_space_leaves_room_for_the_program_and_some_handles(run_client):
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
    make = """
    kept = []
    while True:
        array = client.opapi.aclCreateIntArray((ctypes.c_int64 * 1)(1), 1)
        if not array: break
        kept.append(array)
    print(len(kept) > 10_000, client.message())
    """
    done = run_client(make.replace("\n    ", "\n"), before=limit)
    assert done.returncode == 0 and done.stdout.startswith("True aclCreateIntArray: no room for another handle after "), done.stderr
