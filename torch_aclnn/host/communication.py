"""Counts of what the host engine's collectives moved."""

import ctypes
from dataclasses import dataclass

from torch_aclnn.host.calls import synchronize
from torch_aclnn.host.registry import host_runtime
from torch_aclnn.loading.loader import loaded_library


class _Record(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("communicator", ctypes.c_char_p),
        ("ranks", ctypes.c_uint32),
        ("calls", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class CollectiveBytes:
    """What one function of HCCL has moved on one communicator.

    Attributes:
        name: of the function, as ``HcclAllReduce``; empty in the one entry of a communicator that has not been used.
        communicator: its name, as ``HcclGetCommName`` has it.
        ranks: how many the communicator has.
        calls: how often it has been called since the process started.
        bytes: what the calls read of this rank's memory, or what they wrote, whichever is more, summed over the calls.

    """

    name: str
    communicator: str
    ranks: int
    calls: int
    bytes: int


def collective_bytes() -> list[CollectiveBytes]:
    """Return how often each function of HCCL has been called on each communicator of this process, and how many bytes it moved.

    What the program has launched on the current device is waited for, as :func:`torch.npu.synchronize` does.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device; it does not count. Or something that was waited for has failed.

    Example:
        >>> import torch_aclnn
        >>> counts = torch_aclnn.host.collective_bytes()
        >>> sum(row.bytes for row in counts if row.communicator == "a group that was never made")
        0

    """
    host_runtime()
    synchronize()
    library = loaded_library("libhccl.so")
    if library is None:
        return []
    describe = library.torchAclnnHostCollectives
    describe.restype = ctypes.c_size_t
    describe.argtypes = [ctypes.POINTER(_Record), ctypes.c_size_t, ctypes.c_size_t]
    records = (_Record * describe(None, 0, 0))()
    found = min(describe(records, len(records), ctypes.sizeof(_Record)), len(records))
    return [CollectiveBytes(r.name.decode(), r.communicator.decode(), r.ranks, r.calls, r.bytes) for r in records[:found]]
