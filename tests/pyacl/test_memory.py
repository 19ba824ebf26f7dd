"""Copies, fills and mappings, as samples of pyACL and vllm-ascend do them."""

import numpy
import pytest
import torch

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


def test_a_sample_copies_to_a_stream_and_back(acl, stream, allocate):
    """Do what pyACL's samples do: copy an array to the device and back, in stream order, between two events."""
    start, end = (acl.rt.create_event_with_flag(acl.ACL_EVENT_TIME_LINE)[0] for _ in range(2))
    array = numpy.arange(12, dtype=numpy.int32).reshape(3, 4)
    size, device, back = array.nbytes, allocate(array.nbytes), bytes(array.nbytes)
    assert acl.rt.record_event(start, stream) == 0
    assert acl.rt.memcpy_async(device, size, acl.util.numpy_to_ptr(array), size, HOST_TO_DEVICE, stream) == 0
    assert acl.rt.memset_async(device, size, 0, 4, stream) == 0
    assert acl.rt.memcpy_async(acl.util.bytes_to_ptr(back), size, device, size, DEVICE_TO_HOST, stream) == 0
    assert acl.rt.record_event(end, stream) == 0 and acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.stream_query(stream) == (acl.ACL_STREAM_STATUS_COMPLETE, 0)
    assert acl.rt.query_event_status(end) == (acl.ACL_EVENT_RECORDED_STATUS_COMPLETE, 0)
    milliseconds, ret = acl.rt.event_elapsed_time(start, end)
    assert isinstance(milliseconds, float) and milliseconds >= 0 and ret == 0
    assert numpy.frombuffer(back, numpy.int32).tolist() == [0, *range(1, 12)]
    assert acl.rt.destroy_event(start) == acl.rt.destroy_event(end) == 0


def test_vllm_ascends_sleep_mode_copies_a_tensor(acl):
    source = torch.arange(5, dtype=torch.int32, device="npu")
    kept = torch.empty(5, dtype=torch.int32)
    torch.npu.synchronize()
    assert acl.rt.memcpy(kept.data_ptr(), 40, source.data_ptr(), 20, acl.ACL_MEMCPY_DEVICE_TO_HOST) == 0
    assert kept.tolist() == list(range(5))


def test_rows_of_a_matrix_are_copied(acl, stream, allocate):
    """Two columns of a matrix go to the device with rows of 4 bytes apart, and come back without the gap."""
    matrix, back, device = bytes(range(12)), bytes(6), allocate(12)
    assert acl.rt.memset(device, 12, 0xFF, 12) == 0
    assert acl.rt.memcpy2d(device, 4, acl.util.bytes_to_ptr(matrix) + 1, 4, 2, 3, HOST_TO_DEVICE) == 0
    assert acl.rt.memcpy2d_async(acl.util.bytes_to_ptr(back), 2, device, 4, 2, 3, DEVICE_TO_HOST, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and list(back) == [1, 2, 5, 6, 9, 10]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 5}, "width: expected at most dpitch (4), got 5"),
        ({"height": 4}, "dst: expected device memory for count 16"),
        ({"height": 2**63}, "height: expected rows that fit into memory"),
        ({"kind": 3}, "kind: expected 1 (host to device) or 2 (device to host), got 3"),
        ({"dst": 0}, "dst: expected a value, got null"),
    ],
    ids=str,
)
def test_rows_beyond_the_memory_are_refused(acl, allocate, change, message):
    call = {"dst": allocate(12), "dpitch": 4, "src": acl.util.bytes_to_ptr(bytes(64)), "spitch": 8, "width": 4, "height": 3, "kind": 1}
    assert acl.rt.memcpy2d(*(call | change).values()) in (acl.ACL_ERROR_RT_PARAM_INVALID, acl.ACL_ERROR_INVALID_PARAM)
    assert f"aclrtMemcpy2d: {message}" in acl.get_recent_err_msg()


def test_physical_memory_is_mapped(acl):
    prop = {
        "handleType": acl.ACL_MEM_HANDLE_TYPE_NONE,
        "allocationType": acl.ACL_MEM_ALLOCATION_TYPE_PINNED,
        "memAttr": acl.ACL_HBM_MEM_HUGE,
        "location": {"id": 0, "type": acl.ACL_MEM_LOCATION_TYPE_DEVICE},
        "reserve": 0,
    }
    size, ret = acl.rt.mem_get_allocation_granularity(prop, acl.ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM)
    assert ret == 0
    handle, ret = acl.rt.malloc_physical(size, prop, 0)
    assert ret == 0
    address, ret = acl.rt.reserve_mem_address(size, 0, 0, 1)
    assert ret == 0 and acl.rt.map_mem(address, size, 0, handle, 0) == 0 and acl.rt.memset(address, size, 1, size) == 0
    assert [acl.rt.unmap_mem(address), acl.rt.free_physical(handle), acl.rt.release_mem_address(address)] == [0, 0, 0]
    with pytest.raises(TypeError, match=r"prop\['location'\]: expected the key 'type', got \['id'\]"):
        acl.rt.malloc_physical(size, prop | {"location": {"id": 0}}, 0)
