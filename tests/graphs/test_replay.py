"""What is captured from a stream is done by each replay, and only then."""

import ctypes
import json
from ctypes import byref, c_uint32, c_void_p

from support.runtime import HOST_FUNCTION


def test_nothing_runs_before_a_replay(acl, graphs, stream, memory):
    graph = graphs.capture(stream, lambda: graphs.fill(memory, 7, 16, stream))
    assert acl.read(memory, 16) == bytes(16)
    graphs.replay(graph, stream)
    assert acl.read(memory, 17) == bytes([7] * 16 + [0])


def test_each_replay_does_all_of_it_in_order_on_any_stream(acl, graphs, streams, memory):
    calls = []
    callback = HOST_FUNCTION(lambda argument: calls.append(argument))

    def launch() -> None:
        graphs.copy(memory + 16, memory, 16, streams[0])
        acl.ok("aclrtLaunchHostFunc", streams[0], callback, 5)
        graphs.fill(memory, 9, 16, streams[0])

    graph = graphs.capture(streams[0], launch)
    assert calls == []
    for i, stream in enumerate([streams[0], streams[1], None, streams[0]]):
        acl.write(memory, bytes([i] * 16))
        graphs.replay(graph, stream)
        assert acl.read(memory, 32) == bytes([9] * 16 + [i] * 16)
    assert calls == [5] * 4


def test_execution_waits_on_the_default_stream(acl, graphs, stream, memory):
    graph = graphs.capture(stream, lambda: graphs.fill(memory, 7, 16, stream))
    acl.ok("aclmdlRIExecute", c_void_p(graph), -1)
    assert acl.read(memory, 17) == bytes([7] * 16 + [0])
    acl.ok("aclmdlRIExecute", c_void_p(graph), 1000)
    acl.refuses(107000, "timeout: expected -1 (forever) or at least 1 ms, got 0", "aclmdlRIExecute", c_void_p(graph), 0)


def test_a_graph_has_the_name_that_it_was_given_last(acl, graphs, stream, memory):
    graph = c_void_p(graphs.capture(stream, lambda: graphs.fill(memory, 7, 16, stream)))

    def name(room=600):
        place = ctypes.create_string_buffer(b"x" * 600)
        acl.ok("aclmdlRIGetName", graph, room, place)
        return place.value.decode()

    assert name() == ""
    for given in ("first", "second"):
        acl.ok("aclmdlRISetName", graph, given.encode())
    assert name() == "second" and name(room=4) == "sec"
    acl.ok("aclmdlRISetName", graph, b"a" * 600)
    assert name() == "a" * 511


def test_work_before_and_after_a_capture_is_done_at_once(acl, graphs, stream, memory):
    graphs.fill(memory, 1, 1, stream)
    graphs.capture(stream, lambda: graphs.fill(memory, 2, 1, stream))
    acl.ok("aclrtSynchronizeStream", stream)
    assert acl.read(memory, 1) == b"\x01"
    graphs.fill(memory, 3, 1, stream)
    acl.ok("aclrtSynchronizeStream", stream)
    assert acl.read(memory, 1) == b"\x03"


def test_information_follows_the_capture(acl, graphs, streams, memory):
    assert graphs.info(streams[0]) == graphs.info(None) == (0, None)
    acl.ok("aclmdlRICaptureBegin", streams[0], 0)
    status, graph = graphs.info(streams[0])
    assert status == 1
    assert graphs.info(streams[1]) == (0, None)
    number, again = c_uint32(), c_uint32()
    acl.ok("aclmdlRIGetId", graph, byref(number))
    assert graphs.end(streams[0]) == graph
    acl.ok("aclmdlRIGetId", graph, byref(again))
    assert number.value == again.value > 0
    assert graphs.info(streams[0]) == (0, None)


def test_fork_and_join_are_one_graph(acl, graphs, streams, events, memory):
    (fork, join), (origin, side) = events[:2], streams[:2]

    def launch() -> None:
        graphs.fill(memory, 1, 16, origin)
        acl.ok("aclrtRecordEvent", fork, origin)
        acl.ok("aclrtStreamWaitEvent", side, fork)
        assert graphs.info(side) == graphs.info(origin)
        graphs.copy(memory + 16, memory, 16, side)
        acl.ok("aclrtRecordEvent", join, side)
        acl.ok("aclrtStreamWaitEvent", origin, join)
        graphs.copy(memory + 32, memory + 16, 16, origin)

    graph = graphs.capture(origin, launch)
    assert graphs.info(side) == (0, None)
    assert acl.read(memory, 48) == bytes(48)
    graphs.replay(graph, streams[2])
    assert acl.read(memory, 48) == b"\x01" * 48


def test_stream_joins_through_another(acl, graphs, streams, events, memory):
    def launch() -> None:
        for value, (before, after) in enumerate([(0, 1), (1, 2), (2, 1), (1, 0)]):
            graphs.fill(memory + value, value + 1, 1, streams[before])
            acl.ok("aclrtRecordEvent", events[value], streams[before])
            acl.ok("aclrtStreamWaitEvent", streams[after], events[value])

    graph = graphs.capture(streams[0], launch)
    graphs.replay(graph, streams[0])
    assert acl.read(memory, 4) == bytes([1, 2, 3, 4])


def test_graphs_are_independent(acl, graphs, streams, memory):
    first = graphs.capture(streams[0], lambda: graphs.fill(memory, 1, 1, streams[0]))
    second = graphs.capture(streams[0], lambda: graphs.fill(memory + 1, 2, 1, streams[0]))
    acl.ok("aclmdlRIDestroy", first)
    graphs.replay(second, streams[0])
    assert acl.read(memory, 2) == bytes([0, 2])


def test_two_captures_at_once_keep_to_themselves(acl, graphs, streams, memory):
    acl.ok("aclmdlRICaptureBegin", streams[0], 0)
    acl.ok("aclmdlRICaptureBegin", streams[1], 0)
    graphs.fill(memory, 1, 1, streams[0])
    graphs.fill(memory + 1, 2, 1, streams[1])
    graphs.fill(memory + 2, 3, 1, streams[2])
    acl.ok("aclrtSynchronizeStream", streams[2])
    first, second = graphs.end(streams[0]), graphs.end(streams[1])
    assert acl.read(memory, 3) == bytes([0, 0, 3])
    graphs.replay(second, streams[0])
    assert acl.read(memory, 3) == bytes([0, 2, 3])
    graphs.replay(first, streams[0])
    assert acl.read(memory, 3) == bytes([1, 2, 3])


def test_graph_without_work_replays(acl, graphs, stream):
    graph = graphs.capture(stream, lambda: None)
    graphs.replay(graph, stream)


def test_printed_graph_names_its_tasks_and_streams(acl, graphs, streams, memory, event, tmp_path, capfd):
    def launch() -> None:
        graphs.fill(memory, 1, 1, streams[0])
        acl.ok("aclrtRecordEvent", event, streams[0])

    graph = graphs.capture(streams[0], launch)
    acl.ok("aclmdlRIDebugPrint", graph)
    printed = capfd.readouterr().err.splitlines()
    assert printed[0].endswith("of device 0, 2 steps")
    assert [line.split(": ")[-1] for line in printed[1:]] == ["aclrtMemsetAsync", "records event 0"]

    path = tmp_path / "graph.json"
    acl.ok("aclmdlRIDebugJsonPrint", graph, str(path).encode(), 0)
    steps = json.loads(path.read_text())
    assert [step["name"] for step in steps] == ["aclrtMemsetAsync", "records event 0"]
    assert {step["ph"] for step in steps} == {"X"} and len({step["tid"] for step in steps}) == 1
    acl.refuses(107000, "path: expected a file that can be written", "aclmdlRIDebugJsonPrint", graph, bytes(tmp_path), 0)
    acl.refuses(107000, "flags: expected 0 or 1", "aclmdlRIDebugJsonPrint", graph, b"x", 2)


def test_attribute_that_torch_npu_sets_before_a_capture_is_taken(acl, stream):
    value = ctypes.c_uint64(1)
    acl.ok("aclrtSetStreamAttribute", stream, 4, byref(value))
    acl.ok("aclrtSetStreamAttribute", stream, 1, byref(value))
    acl.refuses(107000, "value: expected 0 or 1", "aclrtSetStreamAttribute", stream, 4, byref(ctypes.c_uint64(2)))
    acl.refuses(207000, "mode: expected 1", "aclrtSetStreamAttribute", stream, 1, byref(ctypes.c_uint64(0)))
    acl.refuses(207000, "stmAttrType: expected", "aclrtSetStreamAttribute", stream, 3, byref(value))
    acl.refuses(100000, "value: expected a value", "aclrtSetStreamAttribute", stream, 4, None)


def test_dead_and_null_handles_are_refused(acl, graphs, stream):
    graph = graphs.capture(stream, lambda: None)
    acl.ok("aclmdlRIDestroy", graph)
    for dead in (graph, stream):
        acl.refuses(107017, "modelRI: expected a live graph", "aclmdlRIExecuteAsync", dead, stream)
        acl.refuses(107017, "modelRI: expected a live graph", "aclmdlRIDestroy", dead)
        acl.refuses(107017, "modelRI: expected a live graph", "aclmdlRIDebugPrint", dead)
    for name, *arguments in (
        ("aclmdlRIExecuteAsync", None, stream), ("aclmdlRIDestroy", None), ("aclmdlRIDebugPrint", None),
        ("aclmdlRIGetId", graph, None), ("aclmdlRIDebugJsonPrint", graph, None, 0), ("aclmdlRICaptureEnd", stream, None),
        ("aclmdlRICaptureGetInfo", stream, None, byref(c_void_p())), ("aclmdlRICaptureThreadExchangeMode", None),
        ("aclmdlRICaptureTaskGrpEnd", stream, None), ("aclmdlRICaptureTaskUpdateBegin", stream, None),
    ):  # fmt: skip
        acl.refuses(100000, "expected a value, got null", name, *arguments)
