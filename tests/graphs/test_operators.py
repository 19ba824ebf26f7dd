"""Operators in graphs: both phases are called while the stream is captured, and what they were given is the graph's from then on."""

from ctypes import byref, c_void_p

import pytest

from support.operators import ROWS
from support.status import INVALID, RUNTIME_ERROR
from support.tensors import Tensor

NAME = ROWS["adaptive_avg_pool2d"].entry_point.name


def arguments(value: float) -> dict[str, Tensor]:
    """Return the arguments of a call that writes a quarter of the value everywhere."""
    image = Tensor((1, 1, 2, 2), values=[0.0] * 4)
    return {"gradOutput": Tensor((1, 1, 1, 1), values=[value]), "self": image, "out": image}


def capture_call(client, graphs, stream, call) -> int:
    def launch() -> None:
        assert call.phase1() == 0, client.message()
        assert call.phase2(stream) == 0, client.message()

    return graphs.capture(stream, launch)


def test_replay_reads_what_the_memory_has_then(client, acl, graphs, streams):
    with client.call(NAME, arguments(8.0)) as call:
        graph = capture_call(client, graphs, streams[0], call)
        assert call.output().values() == [0.0] * 4
        for value, stream in ((8.0, streams[0]), (4.0, streams[1])):
            call["gradOutput"].write([value])
            graphs.replay(graph, stream)
            assert call.output().values() == [value / 4] * 4


def test_handles_may_be_destroyed_once_phase_2_has_been_called(client, acl, graphs, stream):
    with client.call(NAME, arguments(8.0)) as call:
        graph = capture_call(client, graphs, stream, call)
        for operand in call.operands():
            operand.destroy_handle()
        others = [client.call(NAME, arguments(1.0)) for _ in range(8)]  # their handles get the addresses of those that were destroyed
        graphs.replay(graph, stream)
        assert call.output().values() == [2.0] * 4
        for other in others:
            other.destroy_arguments()


def test_handle_that_was_destroyed_before_phase_2_makes_the_capture_fail(client, acl, graphs, stream):
    with client.call(NAME, arguments(8.0)) as call:
        acl.ok("aclmdlRICaptureBegin", stream, 0)
        assert call.phase1() == 0
        call.destroy_handle("gradOutput")
        assert call.phase2(stream) == INVALID
        assert graphs.info(stream)[0] == 2
        graphs.fails_to_end(stream, INVALID, f"failed in {NAME}: gradOutput: expected the aclTensor of phase 1")


def test_repeatable_executor_is_not_captured(client, acl, graphs, stream):
    with client.call(NAME, arguments(8.0)) as call:
        acl.ok("aclmdlRICaptureBegin", stream, 0)
        assert call.phase1() == 0
        executor = c_void_p(call.executor.value)
        assert client.opapi.aclSetAclOpExecutorRepeatable(executor) == 0
        assert call.phase2(stream) == RUNTIME_ERROR
        assert "executor: expected one without aclSetAclOpExecutorRepeatable" in client.message()
        call.executor = executor
        graphs.fails_to_end(stream, INVALID, "expected one without aclSetAclOpExecutorRepeatable")


@pytest.mark.parametrize("name", ["gradOutput", "out"])
def test_replay_after_memory_was_freed_names_operator_and_parameter(client, acl, graphs, stream, name):
    with client.call(NAME, arguments(8.0)) as call:
        graph = capture_call(client, graphs, stream, call)
        call[name].destroy_handle()
        call[name].free_memory()
        acl.ok("aclmdlRIExecuteAsync", graph, stream)
        assert acl.aclrtSynchronizeStream(stream) == 507015
        message = client.message()
        assert message.startswith(f"{NAME}: {name}: ") and "freed after the launch" in message


class Group:
    """A graph of one call of the operator, which is a group of tasks."""

    def __init__(self, client, graphs, stream, call) -> None:
        self.handle = c_void_p()

        def launch() -> None:
            client.acl.ok("aclmdlRICaptureTaskGrpBegin", stream)
            assert call.phase1() == 0 and call.phase2(stream) == 0, client.message()
            client.acl.ok("aclmdlRICaptureTaskGrpEnd", stream, byref(self.handle))

        self.graph = graphs.capture(stream, launch)


def test_update_gives_the_group_other_arguments(client, acl, graphs, streams):
    with client.call(NAME, arguments(8.0)) as call, client.call(NAME, arguments(4.0)) as other:
        group = Group(client, graphs, streams[0], call)
        graphs.replay(group.graph, streams[0])
        assert call.output().values() == [2.0] * 4
        acl.ok("aclmdlRICaptureTaskUpdateBegin", streams[1], group.handle)
        assert other.phase1() == 0 and other.phase2(streams[1]) == 0
        acl.ok("aclmdlRICaptureTaskUpdateEnd", streams[1])
        acl.ok("aclrtSynchronizeStream", streams[1])
        assert other.output().values() == [0.0] * 4
        graphs.replay(group.graph, streams[0])
        assert other.output().values() == [1.0] * 4


def test_update_has_the_tasks_of_the_group(client, acl, graphs, streams, memory):
    with client.call(NAME, arguments(8.0)) as call:
        group = Group(client, graphs, streams[0], call)
        acl.ok("aclmdlRICaptureTaskUpdateBegin", streams[1], group.handle)
        acl.refuses(200001, "has operators only: expected one, got aclrtMemsetAsync", "aclrtMemsetAsync", memory, 1, 0, 1, streams[1])
        acl.refuses(107000, "expected an update of 1 tasks, as many as the group has, got 0", "aclmdlRICaptureTaskUpdateEnd", streams[1])
        acl.refuses(107000, "on which no update has begun", "aclmdlRICaptureTaskUpdateEnd", streams[1])
        acl.ok("aclmdlRICaptureTaskUpdateBegin", streams[1], group.handle)
        for i in range(2):
            with client.prepared(NAME, arguments(1.0)) as other:
                assert other.phase2(streams[1]) == (RUNTIME_ERROR if i else 0)
        assert "the group has 1 tasks: expected aclmdlRICaptureTaskUpdateEnd" in client.message()
        acl.ok("aclmdlRICaptureTaskUpdateEnd", streams[1])


def test_update_is_refused_on_a_captured_stream_and_after_the_graph(client, acl, graphs, streams):
    with client.call(NAME, arguments(8.0)) as call:
        group = Group(client, graphs, streams[0], call)
        with graphs.captured(streams[1]):
            acl.refuses(107027, "expected one that is not captured", "aclmdlRICaptureTaskUpdateBegin", streams[1], group.handle)
        acl.ok("aclmdlRIDestroy", group.graph)
        acl.refuses(107017, "handle: expected a group of tasks of a live graph", "aclmdlRICaptureTaskUpdateBegin", streams[1], group.handle)


def test_group_is_of_a_captured_stream_and_has_operators_only(client, acl, graphs, stream, memory):
    handle = c_void_p()
    acl.refuses(107000, "expected one that is captured", "aclmdlRICaptureTaskGrpBegin", stream)
    acl.ok("aclmdlRICaptureBegin", stream, 0)
    acl.refuses(107000, "expected one with an open group of tasks", "aclmdlRICaptureTaskGrpEnd", stream, byref(handle))
    acl.ok("aclmdlRICaptureTaskGrpBegin", stream)
    acl.refuses(107000, "expected one without an open group of tasks", "aclmdlRICaptureTaskGrpBegin", stream)
    acl.refuses(200001, "has operators only: expected one, got aclrtMemsetAsync", "aclrtMemsetAsync", memory, 1, 0, 1, stream)
    graphs.fails_to_end(stream, 200001, "has operators only")
    acl.ok("aclmdlRICaptureBegin", stream, 0)
    acl.ok("aclmdlRICaptureTaskGrpBegin", stream)
    graphs.fails_to_end(stream, 107000, "a group of tasks without its aclmdlRICaptureTaskGrpEnd")


def test_replay_waits_for_a_word_of_memory_and_sees_an_update_made_meanwhile(client, acl, graphs, streams, memory):
    """torch_npu updates a graph so: the replay is under way and waits, and goes on when the update is done."""
    with client.call(NAME, arguments(8.0)) as call, client.call(NAME, arguments(4.0)) as other:
        handle = c_void_p()

        def launch() -> None:
            acl.ok("aclrtValueWait", memory, 1, 1, streams[0])
            acl.ok("aclrtValueWrite", memory, 0, 0, streams[0])
            acl.ok("aclmdlRICaptureTaskGrpBegin", streams[0])
            assert call.phase1() == 0 and call.phase2(streams[0]) == 0, client.message()
            acl.ok("aclmdlRICaptureTaskGrpEnd", streams[0], byref(handle))

        graph = graphs.capture(streams[0], launch)
        acl.ok("aclmdlRIExecuteAsync", graph, streams[2])
        assert acl.aclrtSynchronizeStreamWithTimeout(streams[2], 20) == 107020
        acl.ok("aclmdlRICaptureTaskUpdateBegin", streams[1], handle)
        assert other.phase1() == 0 and other.phase2(streams[1]) == 0
        acl.ok("aclmdlRICaptureTaskUpdateEnd", streams[1])
        acl.ok("aclrtValueWrite", memory, 1, 0, streams[1])
        acl.ok("aclrtSynchronizeStream", streams[2])
        assert call.output().values() == [0.0] * 4 and other.output().values() == [1.0] * 4
        assert acl.read(memory, 8) == bytes(8)


def test_value_functions_refuse_what_is_not_documented(acl, stream, memory):
    acl.refuses(107000, "devAddr: expected a multiple of 8", "aclrtValueWait", memory + 4, 1, 1, stream)
    acl.refuses(107000, "flag: expected a value in 0..3, got 4", "aclrtValueWait", memory, 1, 4, stream)
    acl.refuses(107000, "flag: expected 0, got 1", "aclrtValueWrite", memory, 1, 1, stream)
    acl.refuses(100000, "devAddr: expected a value", "aclrtValueWrite", None, 1, 0, stream)
    acl.refuses(107000, "devAddr: expected device memory", "aclrtValueWrite", 64, 1, 0, stream)


@pytest.mark.parametrize(("found", "value", "comparison"), [(7, 6, 0), (7, 7, 1), (6, 2, 2), (6, 1, 3)])
def test_wait_is_over_once_the_comparison_holds(acl, stream, memory, found, value, comparison):
    acl.write(memory, found.to_bytes(8, "little"))
    acl.ok("aclrtValueWait", memory, value, comparison, stream)
    acl.ok("aclrtSynchronizeStreamWithTimeout", stream, 5000)


@pytest.mark.parametrize(("found", "value", "comparison"), [(5, 6, 0), (6, 7, 1), (6, 1, 2), (2**64 - 2, 1, 3)])
def test_wait_goes_on_while_the_comparison_does_not_hold(acl, streams, memory, found, value, comparison):
    acl.write(memory, found.to_bytes(8, "little"))
    acl.ok("aclrtValueWait", memory, value, comparison, streams[0])
    assert acl.aclrtSynchronizeStreamWithTimeout(streams[0], 20) == 107020
    acl.ok("aclrtValueWrite", memory, {0: 6, 1: 7, 2: 1, 3: 0}[comparison], 0, streams[1])
    acl.ok("aclrtSynchronizeStreamWithTimeout", streams[0], 5000)
