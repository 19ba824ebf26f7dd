"""libascendcl.so: the runtime's functions with their C types, and shorthands for what every test does."""

import ctypes
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ANY_DIRECTION = 4  # ACL_MEMCPY_DEFAULT
HOST_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)
TENSORS = [c_int, c_void_p, c_void_p]
COMPILE_AND_EXECUTE = [c_char_p, *TENSORS, *TENSORS, c_void_p, c_int, c_int, c_char_p, c_void_p]

# What ctypes would otherwise pass as a C int. Functions that are not listed are only ever called to be refused.
PROTOTYPES: dict[str, list] = {
    "aclGetCompileopt": [c_int, c_char_p, c_size_t],
    "aclGetCompileoptSize": [c_int],
    "aclGetDeviceCapability": [c_uint32, c_int, POINTER(c_int64)],
    "aclSetCompileopt": [c_int, c_char_p],
    "aclInit": [c_char_p],
    "aclmdlRICaptureBegin": [c_void_p, c_int],
    "aclmdlRICaptureEnd": [c_void_p, POINTER(c_void_p)],
    "aclmdlRICaptureGetInfo": [c_void_p, POINTER(c_int), POINTER(c_void_p)],
    "aclmdlRICaptureTaskGrpBegin": [c_void_p],
    "aclmdlRICaptureTaskGrpEnd": [c_void_p, POINTER(c_void_p)],
    "aclmdlRICaptureTaskUpdateBegin": [c_void_p, c_void_p],
    "aclmdlRICaptureTaskUpdateEnd": [c_void_p],
    "aclmdlRICaptureThreadExchangeMode": [POINTER(c_int)],
    "aclmdlRIDebugJsonPrint": [c_void_p, c_char_p, c_uint32],
    "aclmdlRIDebugPrint": [c_void_p],
    "aclmdlRIDestroy": [c_void_p],
    "aclmdlRIExecuteAsync": [c_void_p, c_void_p],
    "aclmdlRIGetId": [c_void_p, POINTER(c_uint32)],
    "aclopCreateAttr": [],
    "aclopSetAttrInt": [c_void_p, c_char_p, c_int64],
    "aclopDestroyAttr": [c_void_p],
    "aclopCompileAndExecute": COMPILE_AND_EXECUTE,
    "aclopCompileAndExecuteV2": COMPILE_AND_EXECUTE,
    "aclrtCreateContext": [POINTER(c_void_p), c_int32],
    "aclrtCreateEvent": [POINTER(c_void_p)],
    "aclrtCreateEventExWithFlag": [POINTER(c_void_p), c_uint32],
    "aclrtCreateEventWithFlag": [POINTER(c_void_p), c_uint32],
    "aclrtCreateStream": [POINTER(c_void_p)],
    "aclrtCreateStreamWithConfig": [POINTER(c_void_p), c_uint32, c_uint32],
    "aclrtCtxGetSysParamOpt": [c_int, POINTER(c_int64)],
    "aclrtCtxSetSysParamOpt": [c_int, c_int64],
    "aclrtDestroyContext": [c_void_p],
    "aclrtDestroyEvent": [c_void_p],
    "aclrtDestroyStream": [c_void_p],
    "aclrtDestroyStreamForce": [c_void_p],
    "aclrtDeviceCanAccessPeer": [POINTER(c_int32), c_int32, c_int32],
    "aclrtEventElapsedTime": [POINTER(c_float), c_void_p, c_void_p],
    "aclrtEventGetTimestamp": [c_void_p, POINTER(c_uint64)],
    "aclrtFree": [c_void_p],
    "aclrtFreeHost": [c_void_p],
    "aclrtFreePhysical": [c_void_p],
    "aclrtGetCurrentContext": [POINTER(c_void_p)],
    "aclrtDeviceGetBareTgid": [POINTER(c_int32)],
    "aclrtGetDevice": [POINTER(c_int32)],
    "aclrtGetDeviceCount": [POINTER(c_uint32)],
    "aclrtGetMemInfo": [c_int, POINTER(c_size_t), POINTER(c_size_t)],
    "aclrtGetStreamOverflowSwitch": [c_void_p, POINTER(c_uint32)],
    "aclrtGetSysParamOpt": [c_int, POINTER(c_int64)],
    "aclrtHostRegister": [c_void_p, c_uint64, c_int, POINTER(c_void_p)],
    "aclrtHostUnregister": [c_void_p],
    "aclrtIpcMemClose": [c_char_p],
    "aclrtIpcMemGetExportKey": [c_void_p, c_size_t, c_char_p, c_size_t, c_uint64],
    "aclrtIpcMemImportByKey": [POINTER(c_void_p), c_char_p, c_uint64],
    "aclrtIpcMemSetImportPid": [c_char_p, POINTER(c_int32), c_size_t],
    "aclrtLaunchCallback": [HOST_FUNCTION, c_void_p, c_int, c_void_p],
    "aclrtLaunchHostFunc": [c_void_p, HOST_FUNCTION, c_void_p],
    "aclrtMalloc": [POINTER(c_void_p), c_size_t, c_int],
    "aclrtMallocHost": [POINTER(c_void_p), c_size_t],
    "aclrtMallocPhysical": [POINTER(c_void_p), c_size_t, c_void_p, c_uint64],
    "aclrtMapMem": [c_void_p, c_size_t, c_size_t, c_void_p, c_uint64],
    "aclrtMemExportToShareableHandle": [c_void_p, c_int, c_uint64, POINTER(c_uint64)],
    "aclrtMemImportFromShareableHandle": [c_uint64, c_int32, POINTER(c_void_p)],
    "aclrtMemSetPidToShareableHandle": [c_uint64, POINTER(c_int32), c_size_t],
    "aclrtMemcpy": [c_void_p, c_size_t, c_void_p, c_size_t, c_int],
    "aclrtMemcpyAsync": [c_void_p, c_size_t, c_void_p, c_size_t, c_int, c_void_p],
    "aclrtMemset": [c_void_p, c_size_t, c_int32, c_size_t],
    "aclrtMemsetAsync": [c_void_p, c_size_t, c_int32, c_size_t, c_void_p],
    "aclrtProcessReport": [c_int32],
    "aclrtQueryEvent": [c_void_p, POINTER(c_int)],
    "aclrtQueryEventStatus": [c_void_p, POINTER(c_int)],
    "aclrtQueryEventWaitStatus": [c_void_p, POINTER(c_int)],
    "aclrtRecordEvent": [c_void_p, c_void_p],
    "aclrtReleaseMemAddress": [c_void_p],
    "aclrtReserveMemAddress": [POINTER(c_void_p), c_size_t, c_size_t, c_void_p, c_uint64],
    "aclrtResetDevice": [c_int32],
    "aclrtResetEvent": [c_void_p, c_void_p],
    "aclrtSetCurrentContext": [c_void_p],
    "aclrtSetDevice": [c_int32],
    "aclrtSetStreamAttribute": [c_void_p, c_int, c_void_p],
    "aclrtSetStreamFailureMode": [c_void_p, c_uint64],
    "aclrtSetStreamOverflowSwitch": [c_void_p, c_uint32],
    "aclrtSetSysParamOpt": [c_int, c_int64],
    "aclrtStreamGetId": [c_void_p, POINTER(c_int32)],
    "aclrtStreamQuery": [c_void_p, POINTER(c_int)],
    "aclrtStreamWaitEvent": [c_void_p, c_void_p],
    "aclrtSubscribeReport": [c_uint64, c_void_p],
    "aclrtSynchronizeEvent": [c_void_p],
    "aclrtSynchronizeStream": [c_void_p],
    "aclrtSynchronizeStreamWithTimeout": [c_void_p, c_int32],
    "aclrtUnSubscribeReport": [c_uint64, c_void_p],
    "aclrtUnmapMem": [c_void_p],
    "aclrtValueWait": [c_void_p, c_uint64, c_uint32, c_void_p],
    "aclrtValueWrite": [c_void_p, c_uint64, c_uint32, c_void_p],
    "torchAclnnHostEntryPoints": [c_void_p, c_size_t, c_size_t],
    "torchAclnnHostInjectedFaults": [],
    "torchAclnnHostSetFaults": [c_char_p],
}
RESULTS = {
    "aclGetCompileoptSize": c_size_t,
    "aclGetRecentErrMsg": c_char_p,
    "aclopCreateAttr": c_void_p,
    "aclprofCreateConfig": c_void_p,
    "aclrtGetSocName": c_char_p,
    "torchAclnnHostEntryPoints": c_size_t,
    "torchAclnnHostInjectedFaults": c_uint64,
}


class PhysicalProperties(ctypes.Structure):
    """aclrtPhysicalMemProp; zeros are device 0's memory."""

    _fields_ = (
        ("handle_type", c_int),
        ("allocation_type", c_int),
        ("memory_attribute", c_int),
        ("device", c_uint32),
        ("location_type", c_int),
        ("reserved", c_uint64),
    )


class Runtime(ctypes.CDLL):
    """libascendcl.so."""

    def __getattr__(self, name: str):
        function = super().__getattr__(name)
        if name in PROTOTYPES:
            function.argtypes = PROTOTYPES[name]
        function.restype = RESULTS.get(name, c_int)
        return function

    def message(self) -> str:
        """Return the message of this thread's last error, and clear it."""
        return self.aclGetRecentErrMsg().decode(errors="backslashreplace")

    def ok(self, name: str, *arguments) -> None:
        """Call what must succeed."""
        code = getattr(self, name)(*arguments)
        assert code == 0, f"{name}: {code}, {self.message()}"

    def refuses(self, code: int, words: str, name: str, *arguments) -> None:
        """Call what must be refused: with the code, and with one message that has the name and the words."""
        assert getattr(self, name)(*arguments) == code
        message = self.message()
        assert message.startswith(f"{name}: "), message
        assert words in message, message

    def write(self, address: int, content: bytes) -> None:
        """Put bytes into device memory, which the program itself may not be able to touch."""
        self.ok("aclrtMemcpy", address, len(content), content, len(content), ANY_DIRECTION)

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of device memory."""
        if size == 0:
            return b""
        target = ctypes.create_string_buffer(size)
        self.ok("aclrtMemcpy", target, size, address, size, ANY_DIRECTION)
        return target.raw

    def create(self, name: str, *arguments) -> int:
        """Call what makes a handle or an address, and return it."""
        made = c_void_p()
        self.ok(name, ctypes.byref(made), *arguments)
        assert made.value is not None
        return made.value
