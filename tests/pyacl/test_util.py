"""Addresses of arrays and bytes, and what lies at addresses."""

import numpy
import pytest


def test_arrays_and_their_addresses(acl, capsys):
    array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    shared = acl.util.ptr_to_numpy(acl.util.numpy_to_ptr(array), (2, 3), 11)
    shared[1, 2] = 9
    assert array[1, 2] == 9 and shared.dtype == array.dtype and capsys.readouterr().out == ""
    address, contiguous = acl.util.numpy_contiguous_to_ptr(array.T)
    assert contiguous.flags.c_contiguous and acl.util.ptr_to_bytes(address, 24) == array.T.tobytes()
    assert acl.util.numpy_contiguous_to_ptr(array)[1] is array
    acl.util.numpy_to_ptr(array.T)
    assert "use acl.util.numpy_contiguous_to_ptr instead" in capsys.readouterr().out


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 23])
def test_the_listed_types_of_numpy_are_known_by_number(acl, number):
    content = bytes(16)
    assert acl.util.ptr_to_numpy(acl.util.bytes_to_ptr(content), (2,), number).dtype.num == number
