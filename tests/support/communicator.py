"""A communicator of this process alone."""

import contextlib
import ctypes
from collections.abc import Iterator

from torch_aclnn.loading.paths import libdir


class Config(ctypes.Structure):
    """HcclCommConfig up to the communicator's name; it begins with the structure's size."""

    _fields_ = [
        ("size", ctypes.c_size_t), ("reserved", ctypes.c_char * 16), ("buffer_size", ctypes.c_uint32), ("deterministic", ctypes.c_uint32),
        ("name", ctypes.c_char * 128), ("udi", ctypes.c_char * 128),
    ]  # fmt: skip


@contextlib.contextmanager
def one_rank(name: bytes) -> Iterator[ctypes.c_void_p]:
    """Make a communicator of that name with one rank, on device 0; its handle is the value."""
    acl, hccl = (ctypes.CDLL(str(libdir() / library)) for library in ("libascendcl.so", "libhccl.so"))
    info, communicator = ctypes.create_string_buffer(8192), ctypes.c_void_p()
    config = Config(size=ctypes.sizeof(Config), name=name)
    assert acl.aclrtSetDevice(0) == 0
    assert hccl.HcclGetRootInfo(info) == 0
    assert hccl.HcclCommInitRootInfoConfig(1, info, 0, ctypes.byref(config), ctypes.byref(communicator)) == 0
    yield communicator
    assert hccl.HcclCommDestroy(communicator) == 0
