"""Views are checked against the allocation they lie in, and outputs against their inputs, in phase 1."""

import ctypes

import pytest

from support.dtypes import DType
from support.operators import ENTRY_POINTS, GOOD, ROWS
from support.status import INVALID
from support.tensors import Tensor, but, tensors_of

ADAPTIVE_AVG_POOL2D = ROWS["adaptive_avg_pool2d"].entry_point.name
AVG_POOL2D = ROWS["avg_pool2d"].entry_point.name
MAX_UNPOOL3D = ROWS["max_unpool3d"].entry_point.name
REPLICATION_PAD2D = ROWS["replication_pad2d"].entry_point.name
EVERY_TENSOR = [(e, name) for e, good in GOOD.items() for name in tensors_of(good)]


def of_some_tensors(number):
    """Parametrise one of four tests, each with one tensor: the same function checks the memory of all tensors."""
    return pytest.mark.parametrize(("entry_point", "parameter"), EVERY_TENSOR[number::4])


READ = [(name, parameter) for name, entry_point in ENTRY_POINTS.items() for parameter in entry_point.reads()]
SHAPE_ONLY = [(name, parameter) for name, entry_point in ENTRY_POINTS.items() for parameter in entry_point.shape_only]


@of_some_tensors(0)
def test_host_memory_is_refused(aclnn, entry_point, parameter):
    memory = ctypes.create_string_buffer(65536)
    changes = {parameter: {"values": None, "address": ctypes.addressof(memory)}}
    aclnn.refuses(entry_point, but(GOOD[entry_point], **changes), INVALID, parameter, "device memory", "in no allocation of a device")


@of_some_tensors(1)
def test_address_that_no_element_can_have_is_refused(aclnn, device_memory, entry_point, parameter):
    item = 8 if GOOD[entry_point][parameter].dtype == DType.INT64 else 4
    changes = {parameter: {"values": None, "address": device_memory + item // 2}}
    expected = f"a data address that is a multiple of {item}"
    aclnn.refuses(entry_point, but(GOOD[entry_point], **changes), INVALID, parameter, expected, str(device_memory + item // 2))


@of_some_tensors(2)
def test_view_that_is_larger_than_its_allocation_is_refused(aclnn, device_memory, entry_point, parameter):
    tensor = GOOD[entry_point][parameter]
    item = 8 if tensor.dtype == DType.INT64 else 4
    size = len(tensor.positions()) * item
    address = device_memory + 4096 - size + item
    changes = {parameter: {"values": None, "address": address}}
    expected = f"a view within its allocation, which goes on for {size - item} bytes"
    aclnn.refuses(entry_point, but(GOOD[entry_point], **changes), INVALID, parameter, expected, f"which ends after {size}")


@of_some_tensors(3)
def test_offset_that_leads_into_another_allocation_is_refused(acl, aclnn, device_memory, entry_point, parameter):
    other = acl.create("aclrtMalloc", 4096, 0)
    item = 8 if GOOD[entry_point][parameter].dtype == DType.INT64 else 4
    low, high = sorted([device_memory, other])
    offset = (high - low) // item
    changes = {parameter: {"values": None, "address": low, "offset": offset, "storage": (offset + 1024,)}}
    aclnn.refuses(entry_point, but(GOOD[entry_point], **changes), INVALID, parameter, "goes on for 4096 bytes", f"offset {offset}")
    acl.ok("aclrtFree", other)


def test_strides_beyond_the_allocation_are_refused(aclnn, device_memory):
    strided = {"strides": (2**36, 2**30, 2**20, 1), "address": device_memory, "storage": (2**40,)}
    aclnn.refuses(AVG_POOL2D, but(GOOD[AVG_POOL2D], gradOutput=strided), INVALID, "gradOutput", "goes on for 4096 bytes", "ends after")


@pytest.mark.parametrize("parameter", ["self", "out"])
def test_number_of_elements_that_wraps_is_refused(aclnn, device_memory, parameter):
    wrapping = {"shape": (2**32, 2**32, 2, 2), "strides": (0, 0, 2, 1), "address": device_memory, "storage": (4,)}
    arguments = GOOD[ADAPTIVE_AVG_POOL2D] | {
        "gradOutput": Tensor((2**32, 2**32, 1, 1), strides=(0, 0, 1, 1), address=device_memory, storage=(4,)),
        **{name: Tensor(**wrapping) for name in ("self", "out")},
    }
    aclnn.refuses(ADAPTIVE_AVG_POOL2D, arguments, INVALID, "gradOutput", r"fewer than 2\^63 elements", "4294967296, 4294967296")


def test_dimension_to_which_no_padding_could_be_added_is_refused(aclnn, device_memory):
    huge = Tensor((1, 2**63 - 1, 1), strides=(0, 0, 0), address=device_memory, storage=(1,))
    arguments = GOOD[REPLICATION_PAD2D] | {"gradOutput": huge, "self": huge, "gradInput": huge, "padding": (0, 0, 1, 1)}
    aclnn.refuses(REPLICATION_PAD2D, arguments, INVALID, "gradOutput", r"dimensions of at most 2\^61", "9223372036854775807")


def test_dimension_below_all_others_is_refused(aclnn, device_memory):
    lowest = Tensor((1, -(2**63), 1), strides=(1, 1, 1), address=device_memory, storage=(1,))
    arguments = GOOD[REPLICATION_PAD2D] | {"gradOutput": lowest, "self": lowest, "gradInput": lowest}
    aclnn.refuses(REPLICATION_PAD2D, arguments, INVALID, "gradOutput", "no negative dimension", "-9223372036854775808")


def test_storage_of_negative_dimensions_is_refused(aclnn):
    arguments = but(GOOD[AVG_POOL2D], gradOutput={"storage": (-4, -6)})
    aclnn.refuses(AVG_POOL2D, arguments, INVALID, "gradOutput", r"a view within its storage of \{-4, -6\}", "shape")


def test_unpooling_plane_that_wraps_is_refused(aclnn, device_memory):
    side = 2**31 - 1
    plane = Tensor((1, side, side, 4), strides=(0, 0, 0, 0), address=device_memory, storage=(1,))
    small = Tensor((1, 1, 1, 1))
    arguments = GOOD[MAX_UNPOOL3D] | {
        "gradOutput": plane, "self": small, "indices": Tensor((1, 1, 1, 1), DType.INT64, [0]), "out": small, "outputSize": (side, side, 4),
    }  # fmt: skip
    aclnn.refuses(MAX_UNPOOL3D, arguments, INVALID, "gradOutput", r"fewer than 2\^63 elements", str(side))


@pytest.mark.parametrize(("entry_point", "parameter"), READ)
def test_output_that_shares_memory_with_an_input_is_refused(aclnn, device_memory, entry_point, parameter):
    output, place = ENTRY_POINTS[entry_point].output, {"address": device_memory, "values": None}
    arguments = but(GOOD[entry_point], **{parameter: place, output: place})
    aclnn.refuses(entry_point, arguments, INVALID, output, "memory of its own", f"memory that is also that of {parameter}")


@pytest.mark.parametrize("entry_point", [name for name, entry_point in ENTRY_POINTS.items() if not entry_point.contiguous_output])
def test_output_that_shares_memory_with_itself_is_refused(aclnn, entry_point):
    output = ENTRY_POINTS[entry_point].output
    tensor = GOOD[entry_point][output]
    strides = (*(0,) * (len(tensor.shape) - 1), 1)
    arguments = but(GOOD[entry_point], **{output: {"strides": strides}})
    aclnn.refuses(entry_point, arguments, INVALID, output, "elements that do not share memory", "with strides")


@pytest.mark.parametrize(("entry_point", "parameter"), SHAPE_ONLY)
def test_input_of_which_only_the_shape_is_read_may_share_the_outputs_memory(aclnn, stream, device_memory, entry_point, parameter):
    output, place = ENTRY_POINTS[entry_point].output, {"address": device_memory}
    expected = aclnn.run(entry_point, GOOD[entry_point], stream)
    assert aclnn.run(entry_point, but(GOOD[entry_point], **{parameter: place, output: place}), stream) == expected


def test_views_that_lie_between_each_other_do_not_overlap(aclnn, stream, device_memory):
    even, odd = {"offset": 0, "strides": (48, 16, 8, 2)}, {"offset": 1, "strides": (192, 64, 16, 2)}
    arguments = but(GOOD[AVG_POOL2D], gradOutput=even | {"address": device_memory}, gradInput=odd | {"address": device_memory})
    arguments = but(arguments, gradOutput={"storage": (1024,)}, gradInput={"storage": (1024,)})
    with aclnn.prepared(AVG_POOL2D, arguments) as call:
        call.finish(stream)


def test_view_that_crosses_its_own_steps_without_meeting_itself_is_taken(aclnn, stream):
    # Steps of 2 and 3 over 3 and 2 elements: 0, 3, 2, 5, 4, 7.
    arguments = {"gradOutput": Tensor((1, 1, 1)), "self": Tensor((1, 3, 2)), "out": Tensor((1, 3, 2), strides=(9, 2, 3))}
    with aclnn.call(ADAPTIVE_AVG_POOL2D, arguments) as call:
        assert call.phase1() == 0, aclnn.message()
