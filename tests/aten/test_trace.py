"""Every entry point on ATen's kernels in the trace: its arguments by name, as they were passed."""

import ctypes
import struct
from pathlib import Path

import pytest
from arguments import BoolArray, IntArray, Scalar, ScalarList, TensorList
from sound_calls import of_every_entry_point, sound_arguments

from support.dtypes import DType, Format
from support.subprocesses import output_of
from support.tensors import Tensor
from support.traces import named, read_trace

# A process of its own, because a trace begins with the process.
FIRST_PHASES = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
import torch_aclnn, torch, torch_npu
from arguments import COMMUNICATOR, ROOM, Handles
from sound_calls import OFFERED, phase1, sound_arguments
from support.client import Client
from support.communicator import one_rank
from torch_aclnn.loading.paths import libdir
client = Client(libdir())
assert client.acl.aclInit(None) == 0 and client.acl.aclrtSetDevice(0) == 0
handles = Handles(client, client.allocate(4096 * ROOM), 4096)
with one_rank(COMMUNICATOR):
    for entry_point in OFFERED:
        code, executor, _ = phase1(entry_point, handles.of_call(sound_arguments(entry_point)).values())
        assert code == 0, client.message()
        client.destroy("AclOpExecutor", executor)
"""
NUMBERS = {DType.FLOAT: "<f", DType.INT64: "<q"}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    file = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    output_of(FIRST_PHASES, TORCH_ACLNN_HOST_TRACE=str(file))
    return read_trace(file)


def described(kind, value):
    """Return the description of the argument that the trace should have."""
    match value:
        case Tensor():
            return {"shape": list(value.shape), "dtype": DType(value.dtype).name, "format": Format(value.real_format()).name}
        case TensorList() | ScalarList():
            return [described(kind, member) for member in value.members]
        case IntArray() | BoolArray():
            return list(value.values)
        case Scalar():
            return struct.unpack_from(NUMBERS[DType(value.dtype)], value.bytes)[0]
        case ctypes.c_char_p():
            return value.value.decode()
        case ctypes._SimpleCData():
            return DType(value.value).name if kind in ("DType", "QuantisedDType") else value.value
    return value


@of_every_entry_point()
def test_the_arguments_are_those_that_were_passed(entry_point, trace):
    *_, call = named(trace, entry_point.name)  # the last call; those before it found the shapes
    kinds = {parameter.name: parameter.kind for parameter in entry_point.parameters}
    assert (call["phase"], call["code"]) == (1, 0) and call["call"] > 0
    passed = {name: described(kinds[name], value) for name, value in sound_arguments(entry_point).items()}
    assert call["arguments"] == passed
    for name, value in passed.items():
        assert type(call["arguments"][name]) is type(value), name  # in Python 1 equals 1.0 and True
