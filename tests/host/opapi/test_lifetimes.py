"""What must still be alive when phase 2 is called: hardware would read freed memory, the engine refuses and names the argument."""

import ctypes
import re
from ctypes import byref, c_float, c_void_p

import pytest

from support.operators import ENTRY_POINTS, GOOD, ROWS
from support.status import INVALID
from support.tensors import Tensor

ADAPTIVE_AVG_POOL2D = ROWS["adaptive_avg_pool2d"].entry_point.name
AVG_POOL2D = ROWS["avg_pool2d"].entry_point.name
EVERY_OPERATOR = pytest.mark.parametrize("entry_point", GOOD)
EVERY_HANDLE = pytest.mark.parametrize(
    ("entry_point", "parameter"),
    [(entry_point, name) for entry_point, call in GOOD.items() for name, value in call.items() if isinstance(value, (Tensor, tuple))],
)
KINDS = ["Tensor", "Scalar", "IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList"]


@EVERY_HANDLE
def test_handle_destroyed_between_the_phases_is_refused(aclnn, stream, entry_point, parameter):
    with aclnn.prepared(entry_point, GOOD[entry_point]) as call:
        kind = "aclTensor" if isinstance(GOOD[entry_point][parameter], Tensor) else "aclIntArray"
        call.destroy_handle(parameter)
        assert call.phase2(stream) == INVALID
        assert aclnn.message() == (
            f"{entry_point}: {parameter}: expected the {kind} of phase 1 until phase 2 has been called, "
            "got one that was destroyed between the phases"
        )
        assert call.output().is_untouched()


@EVERY_OPERATOR
def test_new_handle_in_the_place_of_a_destroyed_one_does_not_pass_for_it(aclnn, stream, entry_point):
    with aclnn.prepared(entry_point, GOOD[entry_point]) as call:
        call.destroy_handle(ENTRY_POINTS[entry_point].first)
        others = [aclnn.tensor(Tensor((2, 2)), (4,), None) for _ in range(200)]  # more handles than wait to be used again
        assert call.phase2(stream) == INVALID
        for handle in others:
            aclnn.destroy("Tensor", handle)


@EVERY_HANDLE
def test_destroyed_handle_is_refused_by_phase_1(aclnn, entry_point, parameter):
    with aclnn.call(entry_point, GOOD[entry_point]) as call:
        value = call.arguments[parameter]
        handle = value.handle if hasattr(value, "handle") else call._arrays[parameter]
        call.destroy_handle(parameter)
        call.arguments[parameter] = handle
        assert call.phase1() == INVALID
        assert f"{entry_point}: {parameter}: expected a live acl" in (message := aclnn.message()), message
        assert not call.executor


@EVERY_OPERATOR
def test_pointer_that_is_no_handle_is_refused(aclnn, entry_point):
    memory = ctypes.create_string_buffer(4096)
    first = ENTRY_POINTS[entry_point].first
    with aclnn.call(entry_point, GOOD[entry_point] | {first: ctypes.addressof(memory)}) as call:
        assert call.phase1() == INVALID
        assert aclnn.message().startswith(f"{entry_point}: {first}: expected a live aclTensor, got 0x")


@EVERY_OPERATOR
def test_executor_cannot_be_used_twice(aclnn, stream, entry_point):
    with aclnn.prepared(entry_point, GOOD[entry_point]) as call:
        used = c_void_p(call.executor.value)
        assert call.phase2(stream) == 0, aclnn.message()
        assert getattr(aclnn.opapi, entry_point)(None, 0, used, stream) == INVALID
        assert aclnn.message().startswith(f"{entry_point}: executor: expected one that phase 1 made and that has not been used up")
        assert aclnn.opapi.aclDestroyAclOpExecutor(used) == INVALID
        assert aclnn.opapi.aclSetAclOpExecutorRepeatable(used) == INVALID


def test_executor_of_another_entry_point_is_refused_and_stays_usable(aclnn, stream):
    with aclnn.prepared(AVG_POOL2D, GOOD[AVG_POOL2D]) as call:
        assert getattr(aclnn.opapi, ADAPTIVE_AVG_POOL2D)(None, 0, call.executor, stream) == INVALID
        assert aclnn.message() == f"{ADAPTIVE_AVG_POOL2D}: executor: expected one of {ADAPTIVE_AVG_POOL2D}, got one of {AVG_POOL2D}"
        assert call.phase2(stream) == 0, aclnn.message()


@EVERY_OPERATOR
def test_memory_freed_between_the_phases_is_refused(aclnn, stream, entry_point):
    with aclnn.prepared(entry_point, GOOD[entry_point]) as call:
        first = ENTRY_POINTS[entry_point].first
        call[first].free_memory()
        assert call.phase2(stream) == INVALID
        assert aclnn.message().startswith(f"{entry_point}: {first}: expected device memory, got")


def make(aclnn, kind):
    if kind == "Tensor":
        return aclnn.tensor(Tensor((2,)), (2,), None)
    if kind == "Scalar":
        return aclnn.opapi.aclCreateScalar(byref(c_float(1)), 0)
    return getattr(aclnn.opapi, f"aclCreate{kind}")(None, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_handle_cannot_be_destroyed_twice(aclnn, kind):
    handle = make(aclnn, kind)
    destroy = getattr(aclnn.opapi, f"aclDestroy{kind}")
    assert destroy(handle) == 0
    assert destroy(handle) == INVALID
    assert re.match(rf"aclDestroy{kind}: \w+: expected null or a live acl{kind}, got 0x", aclnn.message())


@pytest.mark.parametrize("kind", ["Tensor", "Scalar"])
def test_list_tells_of_a_member_that_was_destroyed_on_its_own(aclnn, kind):
    members = (c_void_p * 2)(make(aclnn, kind), make(aclnn, kind))
    handle = getattr(aclnn.opapi, f"aclCreate{kind}List")(members, 2)
    aclnn.destroy(kind, members[1])
    assert getattr(aclnn.opapi, f"aclDestroy{kind}List")(handle) == INVALID
    assert "a member has been destroyed" in aclnn.message()
    assert getattr(aclnn.opapi, f"aclDestroy{kind}")(members[0]) == INVALID  # the list has destroyed it


def test_list_cannot_be_made_of_destroyed_members(aclnn):
    member = make(aclnn, "Tensor")
    aclnn.destroy("Tensor", member)
    assert aclnn.opapi.aclCreateTensorList((c_void_p * 1)(member), 1) is None
    assert aclnn.message().startswith("aclCreateTensorList: value: expected live handles of type aclTensor, got 0x")


@pytest.mark.parametrize("getter", ["aclGetViewOffset", "aclGetFormat", "aclGetDataType"])
def test_getter_refuses_a_destroyed_handle(aclnn, getter):
    handle, result = make(aclnn, "Tensor"), ctypes.c_int64()
    aclnn.destroy("Tensor", handle)
    assert getattr(aclnn.opapi, getter)(handle, byref(result)) == INVALID
    assert aclnn.message().startswith(f"{getter}: tensor: expected a live aclTensor, got 0x")
