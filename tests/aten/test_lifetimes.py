"""What every entry point on ATen's kernels asks of its callers' memory and handles, generated from their list."""

import ctypes
import math

import pytest
from arguments import BoolArray, Handles, IntArray, Scalar, ScalarList, TensorList
from sound_calls import of_every_entry_point, phase1, phase2, sound_arguments

from support.dtypes import size_of
from support.status import INVALID
from support.tensors import Tensor

OBJECTS = (Tensor, TensorList, Scalar, ScalarList, IntArray, BoolArray)


@of_every_entry_point(of=OBJECTS)
def test_handle_destroyed_between_the_phases_is_refused(entry_point, client, handles):
    sound = sound_arguments(entry_point)
    for name, value in sound.items():
        if not isinstance(value, OBJECTS):
            continue
        own = handles.make(value)
        code, executor, size = phase1(entry_point, {**handles.of_call(sound), name: ctypes.c_void_p(own)}.values())
        assert code == 0, client.message()
        client.destroy(type(value).__name__, own)
        workspace = client.allocate(size) if size else None
        assert phase2(entry_point, executor, workspace, size) == INVALID
        expected = f"{entry_point}: {name}: expected the acl{type(value).__name__} of phase 1 until phase 2 has been called"
        assert client.message().startswith(expected)
        if workspace:
            client.free(workspace)


def bytes_of(tensor):
    """Return how many bytes the elements take."""
    return math.prod(tensor.shape) * size_of(tensor.dtype)


WITH_MEMORY = of_every_entry_point(of=(Tensor, TensorList))


def refused_tensors(client, elsewhere, entry_point, handles):
    """Yield the message of phase 1 for each tensor, or list of them, that lies elsewhere."""
    sound = sound_arguments(entry_point)
    for name, value in sound.items():
        if not isinstance(value, (Tensor, TensorList)) or (isinstance(value, Tensor) and bytes_of(value) <= 1):  # it has one byte
            continue
        code, *_ = phase1(entry_point, {**handles.of_call(sound), name: elsewhere.of(value)}.values())
        message = client.message()
        assert code == INVALID and message.startswith(f"{entry_point}: {name}: "), (name, code, message)
        yield message


@WITH_MEMORY
def test_host_memory_is_refused(entry_point, client, handles):
    memory = ctypes.create_string_buffer(4096)
    elsewhere = Handles(client, ctypes.addressof(memory))
    for message in refused_tensors(client, elsewhere, entry_point, handles):
        assert "expected device memory, got an address that is in no allocation of a device" in message
    elsewhere.destroy()


@WITH_MEMORY
def test_view_beyond_its_allocation_is_refused(entry_point, client, handles, last_byte):
    elsewhere = Handles(client, last_byte)
    for message in refused_tensors(client, elsewhere, entry_point, handles):
        assert "expected a view within its allocation, which goes on for 1 bytes" in message
    elsewhere.destroy()


@pytest.fixture(scope="module")
def last_byte(client):
    """Return the address of the last byte of an allocation."""
    memory = client.allocate(4096)
    yield memory + 4095
    client.free(memory)
