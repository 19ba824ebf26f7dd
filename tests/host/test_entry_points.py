"""The list of entry points: what it tells, and that callers of other versions can read it."""

import ctypes
import threading
from _ctypes import dlclose
from collections.abc import Iterator
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint64
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import libdir

from support.compiler import shared_library

ROOT = Path(__file__).resolve().parents[2]


class Parameter(ctypes.Structure):
    _fields_ = (("kind", c_char_p), ("name", c_char_p), ("nullable", c_int), ("data_types", c_uint64))


OLD_FIELDS = (("size", c_size_t), ("name", c_char_p), ("family", c_char_p), ("refused", c_int))
OF_PARAMETERS = (("parameters", POINTER(Parameter)), ("parameter_count", c_size_t), ("parameter_size", c_size_t))
FIELDS = (*OLD_FIELDS, ("data_types", c_uint64), ("calls", c_uint64), *OF_PARAMETERS)


class Record(ctypes.Structure):
    _fields_ = FIELDS


class OldRecord(ctypes.Structure):
    _fields_ = OLD_FIELDS


class NewRecord(ctypes.Structure):
    _fields_ = (*FIELDS, ("added_later", c_uint64))


def records(acl, kind=Record):
    count = acl.torchAclnnHostEntryPoints(None, 0, ctypes.sizeof(kind))
    found = (kind * count)()
    assert acl.torchAclnnHostEntryPoints(found, count, ctypes.sizeof(kind)) == count
    return {record.name.decode(): record for record in found}


def calls(acl, name: str) -> int:
    return records(acl)[name].calls


@pytest.fixture(scope="module")
def passing_library(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("entry_point") / "libpassing.so"
    include = [f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'csrc' / 'include'}"]
    source = Path(__file__).with_name("entry_point.cpp")
    return shared_library(source, target, ["-std=c++20", *include], [f"-L{libdir()}", "-lascendcl"])


@pytest.fixture
def passing(acl, passing_library) -> Iterator[ctypes.CDLL]:
    library = ctypes.CDLL(str(passing_library))
    yield library
    if library._handle:
        dlclose(library._handle)


def test_a_record_tells_what_the_library_declares(acl, passing):
    record = records(acl)["aclnnPassing"]
    assert (record.size, record.family, record.refused, record.data_types) == (ctypes.sizeof(Record), b"tests", 0, 5)
    parameters = [(p.kind, p.name, p.nullable) for p in record.parameters[: record.parameter_count]]
    assert parameters == [(b"In", b"self", 0), (b"OptOut", b"out", 1)] and record.parameter_size == ctypes.sizeof(Parameter)


def test_an_entry_point_goes_with_its_library(acl, passing):
    assert "aclnnPassing" in records(acl)
    dlclose(passing._handle)
    passing._handle = 0
    assert "aclnnPassing" not in records(acl)
    acl.torchAclnnHostResetCalls()


def test_calls_are_counted_from_any_thread_and_reset(acl, passing):
    before = calls(acl, "aclnnPassing")
    threads = [threading.Thread(target=lambda: [passing.count_call() for _ in range(1000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls(acl, "aclnnPassing") == before + 4000
    acl.torchAclnnHostResetCalls()
    assert all(record.calls == 0 for record in records(acl).values())
    passing.count_call()
    assert calls(acl, "aclnnPassing") == 1


def test_functions_that_always_refuse_are_listed(acl):
    refused = {name: record for name, record in records(acl).items() if record.refused}
    assert {"aclmdlInitDump", "aclprofCreateConfig", "rtKernelLaunch"} <= refused.keys()
    record = refused["aclmdlInitDump"]
    assert (record.family, record.data_types, record.parameter_count) == (b"runtime", 0, 0) and not record.parameters


def test_callers_of_an_older_version_get_what_they_know(acl, passing):
    record = records(acl, OldRecord)["aclnnPassing"]
    assert (record.size, record.family, record.refused) == (ctypes.sizeof(OldRecord), b"tests", 0)


def test_callers_of_a_newer_version_see_what_was_not_filled(acl, passing):
    record = records(acl, NewRecord)["aclnnPassing"]
    assert (record.size, record.data_types, record.added_later) == (ctypes.sizeof(Record), 5, 0)


def test_no_more_than_the_capacity_is_written(acl):
    places = (Record * 2)()
    places[1].size = 7
    assert acl.torchAclnnHostEntryPoints(places, 1, ctypes.sizeof(Record)) > 1
    assert places[0].size == ctypes.sizeof(Record) and places[1].size == 7


@pytest.mark.parametrize(("capacity", "size"), [(0, 0), (5, 0), (5, ctypes.sizeof(Record))])
def test_null_asks_for_the_number(acl, capacity, size):
    assert acl.torchAclnnHostEntryPoints(None, capacity, size) == len(records(acl))
