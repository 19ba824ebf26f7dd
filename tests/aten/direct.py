"""Calls as a C program makes them, for entry points that torch_npu leaves alone on the product presented here."""

import ctypes
import functools

import torch
from torch_aclnn.loading.paths import libdir

from support.client import Client, int64s
from support.dtypes import DType, Format
from support.named_operators import DATA_TYPES

_DTYPES = {
    **DATA_TYPES,
    torch.float8_e5m2: 35,
    torch.float8_e4m3fn: 36,
    **({torch.float8_e8m0fnu: 37} if hasattr(torch, "float8_e8m0fnu") else {}),
}


@functools.cache
def client():
    return Client(libdir())


def described(address, sizes, strides, storage, offset=0, dtype=DType.FLOAT, kind=Format.ND):
    """A handle for a tensor at an address, of which all is told."""
    memory = int64s(storage), len(storage), address
    return ctypes.c_void_p(client().opapi.aclCreateTensor(int64s(sizes), len(sizes), dtype, int64s(strides), offset, kind, *memory))


def handle(argument):
    """A handle for a tensor, tensors or a list of int or bool; int64_t for int, double for float, a text for bytes; ctypes' own."""
    if argument is None or isinstance(argument, ctypes._SimpleCData):
        return argument
    if isinstance(argument, torch.Tensor):
        # The storage of the handle begins with the first element.
        storage = [argument.untyped_storage().nbytes() // argument.element_size() - argument.storage_offset()]
        return described(argument.data_ptr(), argument.shape, argument.stride(), storage, dtype=_DTYPES[argument.dtype])
    if isinstance(argument, tuple) and isinstance(argument[0], torch.Tensor):
        members = (ctypes.c_void_p * len(argument))(*map(handle, argument))
        return ctypes.c_void_p(client().opapi.aclCreateTensorList(members, len(argument)))
    if isinstance(argument, list) and argument and isinstance(argument[0], bool):
        return ctypes.c_void_p(client().opapi.aclCreateBoolArray((ctypes.c_bool * len(argument))(*argument), len(argument)))
    if isinstance(argument, (list, tuple)):
        return ctypes.c_void_p(client().int_array(argument))
    return {bool: ctypes.c_bool, int: ctypes.c_int64, float: ctypes.c_double, bytes: ctypes.c_char_p}[type(argument)](argument)


def on_device(argument):
    """A tensor of the CPU, or those of a tuple, on the device; anything else as it is."""
    if isinstance(argument, tuple):
        return tuple(map(on_device, argument))
    return argument.to("npu") if isinstance(argument, torch.Tensor) and argument.is_cpu else argument


def _prepare(entry_point, arguments):
    """Call phase 1. Nobody destroys the handles."""
    first_phase = getattr(ctypes.CDLL("libaclnn_math.so"), f"{entry_point}GetWorkspaceSize")
    torch.npu.synchronize()
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    return first_phase(*map(handle, arguments), ctypes.byref(size), ctypes.byref(executor)), executor, size


def _run(entry_point, executor, size):
    """The second phase's code, and the stream."""
    stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
    workspace = ctypes.c_void_p(torch.empty(size.value, dtype=torch.uint8, device="npu").data_ptr() if size.value else None)
    return getattr(ctypes.CDLL("libaclnn_math.so"), entry_point)(workspace, size, executor, stream), stream


def scalar(number):
    """A handle for an aclScalar of INT64."""
    return ctypes.c_void_p(client().opapi.aclCreateScalar(ctypes.byref(ctypes.c_int64(number)), DType.INT64))


def fraction(number):
    """A handle for an aclScalar of FLOAT."""
    return ctypes.c_void_p(client().opapi.aclCreateScalar(ctypes.byref(ctypes.c_float(number)), DType.FLOAT))


def refusal(entry_point, *arguments):
    """The first phase's code and its message."""
    status, *_ = _prepare(entry_point, on_device(arguments))
    return status, client().message()


def refuses(words, entry_point, *arguments, code=161002):
    """Check that the first phase refuses the call with a code and a message that has the words."""
    status, message = refusal(entry_point, *arguments)
    assert status == code and words in message, (status, message)


def failure(entry_point, *arguments):
    """The code and the message with which the stream reports a call that the first phase lets through."""
    status, executor, size = _prepare(entry_point, on_device(arguments))
    assert status == 0, client().message()
    status, stream = _run(entry_point, executor, size)
    assert status == 0, client().message()
    return client().acl.aclrtSynchronizeStream(stream), client().message()


def fails(words, entry_point, *arguments, code=507015):
    """Check that the stream reports the call with a code and a message that has the words."""
    status, message = failure(entry_point, *arguments)
    assert status == code and words in message, (status, message)


def call(entry_point, *arguments):
    """Both phases, to the end; tensors of the CPU are copied to the device, so that only an output's place matters."""
    status, message = failure(entry_point, *arguments)
    assert status == 0, message


def moved_between_the_phases(entry_point, first, address, *others):
    """The second phase's code and message, after the first argument got another address."""
    status, executor, size = _prepare(entry_point, (first, *others))
    assert status == 0, client().message()
    assert client().opapi.aclSetRawTensorAddr(first, address) == 0
    return _run(entry_point, executor, size)[0], client().message()
