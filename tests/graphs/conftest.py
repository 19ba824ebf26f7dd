"""Graphs of the C interface: streams, memory and captures as a C program would make them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_int, c_void_p

import pytest
from torch_aclnn.loading.modes import is_on
from torch_aclnn.loading.paths import libdir

from support.client import Client
from support.runtime import Runtime

GLOBAL, THREAD_LOCAL, RELAXED = range(3)


class Graphs:
    """The runtime, with shorthands for captures."""

    def __init__(self, acl: Runtime) -> None:
        self.acl = acl
        self.ended: list[int] = []

    def info(self, stream: int) -> tuple[int, int | None]:
        """Return the status of the stream's capture and its graph."""
        status, graph = c_int(-1), c_void_p()
        self.acl.ok("aclmdlRICaptureGetInfo", stream, byref(status), byref(graph))
        return status.value, graph.value

    def end(self, stream: int) -> int:
        graph = c_void_p()
        self.acl.ok("aclmdlRICaptureEnd", stream, byref(graph))
        assert graph.value is not None
        self.ended.append(graph.value)
        return graph.value

    def fails_to_end(self, stream: int, code: int, words: str) -> None:
        graph = c_void_p(1)
        self.acl.refuses(code, words, "aclmdlRICaptureEnd", stream, byref(graph))
        assert graph.value is None
        assert self.info(stream) == (0, None)

    def capture(self, stream: int, launch: Callable[[], object], mode: int = GLOBAL) -> int:
        self.acl.ok("aclmdlRICaptureBegin", stream, mode)
        launch()
        return self.end(stream)

    @contextmanager
    def captured(self, stream: int, mode: int = GLOBAL) -> Iterator[None]:
        """Capture; the graph is destroyed, also if the capture fails."""
        self.acl.ok("aclmdlRICaptureBegin", stream, mode)
        try:
            yield
        finally:
            graph = c_void_p()
            if self.acl.aclmdlRICaptureEnd(stream, byref(graph)) == 0:
                self.acl.ok("aclmdlRIDestroy", graph)
            self.acl.aclGetRecentErrMsg()

    def replay(self, graph: int, stream: int | None) -> None:
        self.acl.ok("aclmdlRIExecuteAsync", graph, stream)
        self.acl.ok("aclrtSynchronizeStream", stream)

    def fill(self, address: int, value: int, count: int, stream: int | None) -> None:
        self.acl.ok("aclrtMemsetAsync", address, count, value, count, stream)

    def copy(self, target: int, source: int, count: int, stream: int | None) -> None:
        self.acl.ok("aclrtMemcpyAsync", target, count, source, count, 3, stream)


@pytest.fixture(scope="session")
def loaded_client() -> Client:
    return Client(libdir())


@pytest.fixture
def client(acl: Runtime, loaded_client: Client) -> Client:
    """Return the operators' library too, on an engine whose operators need no workspace."""
    if is_on("workspace"):
        pytest.skip("the calls give no workspace, but TORCH_ACLNN_HOST_MODE=workspace is set")
    return loaded_client


@pytest.fixture
def graphs(acl: Runtime) -> Iterator[Graphs]:
    """Return the shorthands; after the test no graph is left."""
    made = Graphs(acl)
    yield made
    for graph in made.ended:
        acl.aclmdlRIDestroy(graph)  # if the test has not done so


@pytest.fixture
def streams(acl: Runtime) -> Iterator[list[int]]:
    made = [acl.create("aclrtCreateStream") for _ in range(3)]
    yield made
    for stream in made:
        acl.aclmdlRICaptureEnd(stream, byref(c_void_p()))  # ends the capture of a test that failed
        acl.aclrtSynchronizeStream(stream)
        acl.ok("aclrtDestroyStream", stream)


@pytest.fixture
def stream(streams: list[int]) -> int:
    return streams[0]


@pytest.fixture
def events(acl: Runtime) -> Iterator[list[int]]:
    made = [acl.create("aclrtCreateEvent") for _ in range(4)]
    yield made
    for event in made:
        acl.ok("aclrtDestroyEvent", event)


@pytest.fixture
def event(events: list[int]) -> int:
    return events[0]


@pytest.fixture
def memory(acl: Runtime) -> Iterator[int]:
    """Return 4096 bytes of device memory, all zero."""
    address = acl.create("aclrtMalloc", 4096, 0)
    acl.ok("aclrtMemset", address, 4096, 0, 4096)
    yield address
    acl.ok("aclrtFree", address)
