"""Products over ranks and the life of the communicator that they name."""

import ctypes

import pytest
from arguments import kind
from sound_calls import ENTRY_POINTS, phase1, sound_arguments

from support.communicator import one_rank
from support.status import RUNTIME_ERROR

(ALL_REDUCE,) = (entry_point for entry_point in ENTRY_POINTS if entry_point.name == "aclnnMatmulAllReduce")
OWN = b"a communicator that ends"


def prepared(client, handles) -> ctypes.c_void_p:
    """Return an executor of a product over the ranks of the communicator OWN."""
    arguments = {**sound_arguments(ALL_REDUCE), "group": type(kind("CommGroup").sound)(OWN)}
    code, executor = phase1(ALL_REDUCE, [handles.of(value) for value in arguments.values()])
    assert code == 0, client.message()
    return executor


@pytest.fixture
def phase2():
    return getattr(ctypes.CDLL("libaclnn_math.so"), ALL_REDUCE.name)


def test_communicator_may_be_destroyed_before_its_work_is_over(client, handles, phase2):
    with one_rank(OWN):
        for executor in [prepared(client, handles) for _ in range(200)]:
            assert phase2(None, ctypes.c_uint64(0), executor, None) == 0, client.message()
    assert client.acl.aclrtSynchronizeStream(None) == 0, client.message()


def test_communicator_destroyed_between_the_phases_is_refused(client, handles, phase2):
    with one_rank(OWN):
        executor = prepared(client, handles)
    assert phase2(None, ctypes.c_uint64(0), executor, None) == RUNTIME_ERROR
    assert "group: expected a communicator that lives until phase 2, got one that was destroyed" in client.message()
