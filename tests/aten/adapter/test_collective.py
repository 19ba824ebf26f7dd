"""collective.cpp against definitions in float64."""

import ctypes

import pytest
from arguments import kind
from sound_calls import ENTRY_POINTS, phase1, phase2, sound_arguments

from support.communicator import one_rank
from support.status import RUNTIME_ERROR

(ALL_REDUCE,) = (entry_point for entry_point in ENTRY_POINTS if entry_point.name == "aclnnMatmulAllReduce")


OWN = b"a communicator that ends"


def prepared(client, handles) -> tuple[ctypes.c_void_p, int]:
    """Return an executor of a product over the ranks of the communicator OWN, and the size of its workspace."""
    arguments = {**sound_arguments(ALL_REDUCE), "group": type(kind("CommGroup").sound)(OWN)}
    code, executor, size = phase1(ALL_REDUCE, handles.of_call(arguments).values())
    assert code == 0, client.message()
    return executor, size


@pytest.fixture
def workspace(client):
    memory = client.allocate(4096)
    yield memory
    client.free(memory)


def test_communicator_may_be_destroyed_before_its_work_is_over(client, handles, workspace):
    with one_rank(OWN):
        for executor, size in [prepared(client, handles) for _ in range(200)]:
            assert phase2(ALL_REDUCE, executor, workspace, size) == 0, client.message()
    assert client.acl.aclrtSynchronizeStream(None) == 0, client.message()


def test_communicator_destroyed_between_the_phases_is_refused(client, handles, workspace):
    with one_rank(OWN):
        executor, size = prepared(client, handles)
    assert phase2(ALL_REDUCE, executor, workspace, size) == RUNTIME_ERROR
    assert "group: expected a communicator that lives until phase 2, got one that was destroyed" in client.message()
