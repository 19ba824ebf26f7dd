"""Mistakes of Python are exceptions, and refusals of the engine codes with a message."""

import re

import pytest


def test_what_is_asked_for_of_the_machine(acl):
    assert acl.rt.get_run_mode() == (acl.ACL_HOST, 0)
    assert acl.get_version() == (1, 0, 0, 0)
    assert acl.get_recent_err_msg() == ""


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda acl: acl.rt.set_device("0"), TypeError, "acl.rt.set_device: device_id: expected int, got str"),
        (lambda acl: acl.rt.synchronize_stream(None), TypeError, "acl.rt.synchronize_stream: stream: expected int, got NoneType"),
        (lambda acl: acl.rt.set_device(), TypeError, "acl.rt.set_device: expected the arguments (device_id), got 0"),
        (lambda acl: acl.init(7), TypeError, "acl.init: config_path: expected str, got int"),
        (lambda acl: acl.rt.set_device(1 << 32), OverflowError, "device_id: expected a value in -2147483648..2147483647, got 4294967296"),
        (lambda acl: acl.rt.malloc(-1, 0), OverflowError, "size: expected a value in 0..18446744073709551615, got -1"),
        (lambda acl: acl.rt.launch_callback(None, [], 1, 0), TypeError, "fn: expected a function, got NoneType"),
        (lambda acl: acl.util.start_thread(None, []), TypeError, "thr_func: expected a function, got NoneType"),
        (lambda acl: acl.util.bytes_to_ptr("text"), TypeError, "bytes_data: expected bytes, got str"),
        (lambda acl: acl.util.ptr_to_bytes(0, 8), ValueError, "ptr: expected an address, got 0"),
        (lambda acl: acl.util.ptr_to_numpy(0, (1,), 7), ValueError, "ptr: expected an address, got 0"),
        (lambda acl: acl.util.ptr_to_numpy(1, [1], 7), TypeError, "shape: expected tuple, got list"),
        (lambda acl: acl.util.ptr_to_numpy(1, (1,), 17), ValueError, "type: expected a number of NumPy's integers"),
        (lambda acl: acl.util.ptr_to_numpy(1, (1 << 62, 8), 7), OverflowError, "size: expected a value in 0.."),
        (lambda acl: acl.util.numpy_to_ptr([1]), TypeError, "data: expected numpy.ndarray, got list"),
        (lambda acl: acl.mdl.load_from_file("a.om"), NotImplementedError, "acl.mdl.load_from_file: the torch_aclnn host engine has no"),
        (lambda acl: acl.media.dvpp_malloc(1), NotImplementedError, "acl.media.dvpp_malloc: "),
        (lambda acl: acl.rt.set_group(1), NotImplementedError, "acl.rt.set_group: "),
        (lambda acl: acl.rt.mem_flush(1, 1), NotImplementedError, "acl.rt.mem_flush: the torch_aclnn host engine has no aclrtMemFlush"),
        (lambda acl: acl.nothing, AttributeError, "has no attribute 'nothing'"),
        (lambda acl: acl.ACL_NOTHING, AttributeError, "has no attribute 'ACL_NOTHING'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistakes_are_exceptions(acl, call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call(acl)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("set_device", (99,), "deviceId"),
        ("free", (0x1234,), "devPtr"),
        ("memcpy", (0, 8, 0, 8, 0), "dst: expected a value, got null"),
        ("memcpy", (0x1234, 8, 0x5678, 8, 1), "dst: expected device memory"),
        ("synchronize_stream", (0x1234,), "stream"),
        ("destroy_event", (0,), "event"),
        ("create_context", (99,), "deviceId"),
    ],
)
def test_what_the_engine_refuses_is_a_code_with_a_message(acl, name, arguments, words):
    returned = getattr(acl.rt, name)(*arguments)
    assert (returned[-1] if isinstance(returned, tuple) else returned) != 0
    assert words in acl.get_recent_err_msg()
