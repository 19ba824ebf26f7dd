"""Conditional tasks: each replay takes the branch that a value in device memory names then."""

from ctypes import POINTER, Structure, byref, c_int, c_uint32, c_void_p, cast

import pytest
import torch

from support.marks import of_a2_and_a3

IF, WHILE, SWITCH = range(3)
pytestmark = of_a2_and_a3


class Parameters(Structure):
    _fields_ = [("handle", c_void_p), ("type", c_int), ("size", c_uint32), ("graphs", POINTER(c_void_p))]


def condition(acl, graphs, stream, initial=0, flag=0):
    """Return a condition of the graph that is captured, and the address of its value."""
    handle, value = c_void_p(), c_void_p()
    acl.ok("aclmdlRICondHandleCreate", c_void_p(graphs.info(stream)[1]), initial, flag, byref(handle))
    acl.ok("aclmdlRICondHandleGetCondPtr", handle, byref(value))
    return handle, value.value


def parameters(handle, kind, size):
    branches = (c_void_p * size)()
    return Parameters(handle, kind, size, cast(branches, POINTER(c_void_p))), branches


def add_task(acl, graphs, streams, handle, kind, branches):
    """Add a conditional task to the capture of the first stream, each branch captured from the second."""
    given, made = parameters(handle, kind, len(branches))
    acl.ok("aclmdlRIAddCondTask", given, c_void_p(streams[0]), 0)
    for graph, launch in zip(made, branches, strict=True):
        acl.ok("aclmdlRICaptureToModelRIBegin", c_void_p(streams[1]), c_void_p(graph), 0)
        launch(streams[1])
        assert graphs.end(streams[1]) == graph


@pytest.mark.parametrize(
    ("kind", "count", "taken"), [(IF, 1, {0: 0, 1: 1, 7: 1}), (IF, 2, {0: 2, 1: 1}), (SWITCH, 3, {0: 1, 1: 2, 2: 3, 3: 0, 2**32: 0})]
)
def test_the_branch_is_that_of_the_value_at_the_replay(acl, graphs, streams, memory, kind, count, taken):
    acl.ok("aclmdlRICaptureBegin", c_void_p(streams[0]), 0)
    handle, value = condition(acl, graphs, streams[0])
    graphs.fill(memory, 0, 1, streams[0])
    write = lambda number: lambda stream: graphs.fill(memory, number, 1, stream)
    add_task(acl, graphs, streams, handle, kind, [write(number + 1) for number in range(count)])
    graphs.copy(memory + 1, memory, 1, streams[0])  # runs after the conditional node
    graph = graphs.end(streams[0])
    for given, expected in taken.items():
        acl.write(value, given.to_bytes(8, "little"))
        graphs.replay(graph, streams[2])
        assert acl.read(memory, 2) == bytes([expected] * 2)
    acl.ok("aclmdlRIDestroy", c_void_p(graph))
    acl.refuses(107017, "a condition of a live graph", "aclmdlRICondHandleGetCondPtr", handle, byref(c_void_p()))


def test_a_loop_goes_on_until_its_branch_sets_the_value_to_zero(acl, graphs, streams, memory):
    """Each execution begins with the default."""
    acl.ok("aclmdlRICaptureBegin", c_void_p(streams[0]), 0)
    handle, value = condition(acl, graphs, streams[0], initial=1, flag=1)

    def take_the_next(stream):
        graphs.copy(value, memory, 8, stream)
        graphs.copy(memory + 1024, memory + 8, 80, stream)
        graphs.copy(memory, memory + 1024, 80, stream)

    add_task(acl, graphs, streams, handle, WHILE, [take_the_next])
    graph = graphs.end(streams[0])
    for turns in (1, 4):
        words = [1] * (turns - 1) + [0, 5, 6]
        acl.write(memory, b"".join(word.to_bytes(8, "little") for word in words))
        graphs.replay(graph, streams[0])
        assert acl.read(value, 8) == bytes(8) and acl.read(memory, 9) == bytes([5, *[0] * 7, 6])


def test_conditions_within_branches(acl, graphs, streams, memory):
    acl.ok("aclmdlRICaptureBegin", c_void_p(streams[0]), 0)
    handle, outer = condition(acl, graphs, streams[0])
    inner = []

    def branch(stream):
        again, value = condition(acl, graphs, stream)
        inner.append(value)
        add_task(acl, graphs, streams[1:], again, IF, [lambda stream: graphs.fill(memory, 7, 1, stream)])

    add_task(acl, graphs, streams, handle, IF, [branch])
    graph = graphs.end(streams[0])
    for values, expected in {(0, 1): 0, (1, 0): 0, (1, 1): 7}.items():
        for address, value in zip((outer, *inner), values, strict=True):
            acl.write(address, value.to_bytes(8, "little"))
        graphs.replay(graph, streams[0])
        assert acl.read(memory, 1) == bytes([expected])


def test_what_is_refused(acl, graphs, streams):
    handle, other = c_void_p(), c_void_p(streams[1])
    refused = lambda words, kind, size, stream=streams[0], flags=0, code=107000: acl.refuses(
        code, words, "aclmdlRIAddCondTask", parameters(handle, kind, size)[0], c_void_p(stream), flags
    )
    with graphs.captured(streams[0]):
        graph = c_void_p(graphs.info(streams[0])[1])
        acl.refuses(107000, "flag: expected 0 or 1, got 2", "aclmdlRICondHandleCreate", graph, 0, 2, byref(handle))
        acl.refuses(107017, "modelRI: expected a live graph", "aclmdlRICondHandleCreate", c_void_p(8), 0, 0, byref(handle))
        acl.ok("aclmdlRICondHandleCreate", graph, 0, 0, byref(handle))
        refused("stream: expected one that is captured", IF, 1, stream=streams[1])
        refused("flags: expected 0, got 1", IF, 1, flags=1)
        refused("params.type: expected a value in 0..2, got 3", 3, 1)
        refused("params.size: expected 1 or 2, got 3", IF, 3)
        refused("params.size: expected 1, got 2", WHILE, 2)
        refused("params.size: expected at least 1, got 0", SWITCH, 0)
        words = "a branch of a conditional task that was not captured yet"
        acl.refuses(107000, words, "aclmdlRICaptureToModelRIBegin", other, graph, 0)
        with graphs.captured(streams[1]):
            refused("params.handle: expected a condition of graph", IF, 1, stream=streams[1])


def test_cond_of_torch_is_captured():
    """A later torch_npu captures both branches of torch.cond in a graph."""
    conditional = pytest.importorskip("torch_npu.npu._npugraph_conditional_nodes", reason="a later torch_npu has it")
    x, wanted = torch.arange(4.0).npu(), torch.tensor(True).npu()
    choose = lambda: torch.cond(wanted, lambda x: x + 1, lambda x: x * 10, (x,))
    with conditional.ControlFlowOpWarmupDispatchMode():
        choose()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph), conditional.NPUGraphCaptureControlFlowOpDispatchMode():
        result = choose()
    for value in (True, False, True):
        wanted.fill_(value)
        graph.replay()
        assert torch.equal(result, x + 1 if value else x * 10)
