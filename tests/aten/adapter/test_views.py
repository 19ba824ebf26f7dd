"""views.cpp against definitions in float64."""

import ctypes

import pytest
import torch
from checks import DEVICE

from direct import call, client, described, moved_between_the_phases, refuses
from support.marks import STRICT
from support.status import BEYOND_STORAGE, INVALID


def test_what_is_written_may_exceed_the_storage_that_its_handle_tells():
    """The write stays within the allocation, as on an NPU. Strict mode refuses it, and a read must not exceed the storage."""
    memory, source = torch.zeros(5, device=DEVICE), torch.tensor([1.0, 2, 3], device=DEVICE)
    output = described(memory.data_ptr(), [3], [2], [3])
    if STRICT:
        refuses("selfRef: expected a view within its storage", "aclnnInplaceCopy", output, source)
    else:
        call("aclnnInplaceCopy", output, source)
        assert memory.tolist() == [1, 0, 2, 0, 3]
    wider = described(memory.data_ptr(), [3], [2], [3])
    refuses("src: expected a view within its storage", "aclnnInplaceCopy", source, wider, code=BEYOND_STORAGE)


@pytest.mark.parametrize("rows", [slice(0, 70), slice(3, 60), slice(0, 70, 2)], ids=["whole", "cut", "gaps"])
def test_transposed_matrix_keeps_its_bits(rows):
    bits = torch.randint(-(2**31), 2**31, (41, 70), generator=torch.Generator().manual_seed(1)).to(torch.int32)
    source = bits.view(torch.float32).to(DEVICE).t()
    copied = torch.zeros(source[rows].shape, device=DEVICE)
    call("aclnnInplaceCopy", copied, source[rows])
    assert torch.equal(copied.cpu().view(torch.int32), bits.t()[rows])


@pytest.mark.parametrize("count", [1, 11, 12, 13, 200])
def test_array_of_any_length_keeps_its_values(count):
    """The handle itself holds the values of a short array."""
    sizes = [1 + i % 3 for i in range(count)]
    source = torch.arange(float(sum(sizes)), device=DEVICE)
    parts = tuple(torch.zeros(size, device=DEVICE) for size in sizes)
    call("aclnnSplitWithSize", source, sizes, 0, parts)
    assert torch.equal(torch.cat(parts), source)


@pytest.mark.parametrize(("sizes", "strides", "offset"), [([3], [-1], 2), ([2, 3], [-3, 1], 3), ([1], [-1], 0), ([3], [1], -1)], ids=str)
def test_negative_strides_and_offsets_are_refused(sizes, strides, offset):
    """The documents of aclCreateTensor allow none: also where a reversed view lies within its storage, and where a stride has no effect."""
    memory = torch.arange(8.0, device=DEVICE)
    view = described(memory[1:].data_ptr(), sizes, strides, [7], offset)
    other = torch.zeros(sizes, device=DEVICE)
    for name, arguments in {"src": (other, view), "selfRef": (view, other)}.items():
        refuses(f"{name}: expected strides and an offset that are not negative, got shape", "aclnnInplaceCopy", *arguments)
    assert memory.tolist() == [*range(8)] and not other.any()


def test_address_that_is_set_later():
    memory, source = torch.zeros(3, device=DEVICE), torch.tensor([1.0, 2, 3], device=DEVICE)
    handle, address, library = described(None, [3], [1], [3]), ctypes.c_void_p(), client().opapi
    assert library.aclSetRawTensorAddr(handle, ctypes.c_void_p(memory.data_ptr())) == 0
    assert library.aclGetRawTensorAddr(handle, ctypes.byref(address)) == 0 and address.value == memory.data_ptr()
    call("aclnnInplaceCopy", handle, source)
    assert memory.tolist() == [1, 2, 3]
    # Between the phases it must stay: the operator has looked at it.
    code, message = moved_between_the_phases("aclnnInplaceCopy", handle, ctypes.c_void_p(source.data_ptr()), source)
    assert code == INVALID and "selfRef: expected the data address of phase 1" in message
