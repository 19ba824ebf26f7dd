"""Calls as a C program makes them, for entry points that torch_npu leaves alone on the product presented here."""

import ctypes

import torch

_DTYPES = {
    torch.float32: 0,
    torch.float16: 1,
    torch.int8: 2,
    torch.int32: 3,
    torch.uint8: 4,
    torch.int16: 6,
    torch.uint16: 7,
    torch.uint32: 8,
    torch.int64: 9,
    torch.uint64: 10,
    torch.float64: 11,
    torch.bool: 12,
    torch.complex64: 16,
    torch.bfloat16: 27,
    torch.float8_e5m2: 35,
    torch.float8_e4m3fn: 36,
    **({torch.float8_e8m0fnu: 37} if hasattr(torch, "float8_e8m0fnu") else {}),
}


def _longs(values):
    return (ctypes.c_int64 * len(values))(*values)


class _Handles:
    def __init__(self):
        self.lib = ctypes.CDLL("libopapi.so")

    def of(self, argument):
        """A handle for a tensor, tensors or a list of int or bool; int64_t for int, double for float, a text for bytes; ctypes' own."""
        if argument is None or isinstance(argument, ctypes._SimpleCData):
            return argument
        if isinstance(argument, torch.Tensor):
            sizes, strides = _longs(argument.shape), _longs(argument.stride())
            rank = ctypes.c_uint64(argument.dim())
            # From the first element on.
            storage = _longs([argument.untyped_storage().nbytes() // argument.element_size() - argument.storage_offset()])
            self.lib.aclCreateTensor.restype = ctypes.c_void_p
            memory = storage, ctypes.c_uint64(1), ctypes.c_void_p(argument.data_ptr())
            return ctypes.c_void_p(self.lib.aclCreateTensor(sizes, rank, _DTYPES[argument.dtype], strides, ctypes.c_int64(0), 2, *memory))
        if isinstance(argument, tuple) and isinstance(argument[0], torch.Tensor):
            self.lib.aclCreateTensorList.restype = ctypes.c_void_p
            members = (ctypes.c_void_p * len(argument))(*(self.of(member) for member in argument))
            return ctypes.c_void_p(self.lib.aclCreateTensorList(members, ctypes.c_uint64(len(argument))))
        if isinstance(argument, list) and argument and isinstance(argument[0], bool):
            self.lib.aclCreateBoolArray.restype = ctypes.c_void_p
            return ctypes.c_void_p(self.lib.aclCreateBoolArray((ctypes.c_bool * len(argument))(*argument), ctypes.c_uint64(len(argument))))
        if isinstance(argument, (list, tuple)):
            self.lib.aclCreateIntArray.restype = ctypes.c_void_p
            return ctypes.c_void_p(self.lib.aclCreateIntArray(_longs(argument), ctypes.c_uint64(len(argument))))
        if isinstance(argument, bool):
            return ctypes.c_bool(argument)
        if isinstance(argument, int):
            return ctypes.c_int64(argument)
        if isinstance(argument, float):
            return ctypes.c_double(argument)
        return ctypes.c_char_p(argument)


def on_device(argument):
    """A tensor of the CPU, or those of a tuple, on the device; anything else as it is."""
    if isinstance(argument, tuple):
        return tuple(map(on_device, argument))
    return argument.to("npu") if isinstance(argument, torch.Tensor) and argument.is_cpu else argument


def _prepare(entry_point, arguments):
    """The first phase. The handles are left to the process."""
    handles, library = _Handles(), ctypes.CDLL("libaclnn_math.so")
    torch.npu.synchronize()
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    status = getattr(library, f"{entry_point}GetWorkspaceSize")(
        *(handles.of(argument) for argument in arguments), ctypes.byref(size), ctypes.byref(executor)
    )
    return status, executor, size


def _run(entry_point, executor, size):
    """The second phase's code, and the stream."""
    stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
    workspace = ctypes.c_void_p(torch.empty(size.value, dtype=torch.uint8, device="npu").data_ptr() if size.value else None)
    return getattr(ctypes.CDLL("libaclnn_math.so"), entry_point)(workspace, size, executor, stream), stream


def _message():
    recent = ctypes.CDLL("libascendcl.so").aclGetRecentErrMsg
    recent.restype = ctypes.c_char_p
    return recent().decode()


def _number(value, dtype):
    library = ctypes.CDLL("libopapi.so")
    library.aclCreateScalar.restype = ctypes.c_void_p
    return ctypes.c_void_p(library.aclCreateScalar(ctypes.byref(value), _DTYPES[dtype]))


def scalar(number):
    """A handle for an aclScalar of INT64."""
    return _number(ctypes.c_int64(number), torch.int64)


def fraction(number):
    """A handle for an aclScalar of FLOAT."""
    return _number(ctypes.c_float(number), torch.float32)


def refusal(entry_point, *arguments):
    """The first phase's code and its message."""
    given = on_device(arguments)
    status, *_ = _prepare(entry_point, given)
    return status, _message()


def refuses(words, entry_point, *arguments, code=161002):
    """Check that the first phase refuses the call with a code and a message that has the words."""
    status, message = refusal(entry_point, *arguments)
    assert status == code and words in message, (status, message)


def failure(entry_point, *arguments):
    """The code and the message with which the stream reports a call that the first phase lets through."""
    given = on_device(arguments)
    status, executor, size = _prepare(entry_point, given)
    assert status == 0, _message()
    status, stream = _run(entry_point, executor, size)
    assert status == 0, _message()
    return ctypes.CDLL("libascendcl.so").aclrtSynchronizeStream(stream), _message()


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
    assert status == 0, _message()
    assert ctypes.CDLL("libopapi.so").aclSetRawTensorAddr(first, address) == 0
    return _run(entry_point, executor, size)[0], _message()
