"""Counts of what the host engine ran."""

import ctypes

from torch_aclnn.host.engine import is_active
from torch_aclnn.host.loader import loaded_library


def calls() -> dict[str, int]:
    """Return how often each aclnn entry point has been launched on the host engine in this process.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device; it does not count.

    Example:
        >>> import torch_aclnn, torch
        >>> torch_aclnn.host.reset_calls()
        >>> _ = torch.ones(2, device="npu").exp()
        >>> torch.npu.synchronize()  # until then a call may still be in torch_npu's queue
        >>> torch_aclnn.host.calls()["aclnnExp"]
        1

    """
    runtime = _host_runtime()
    count = runtime.torchAclnnHostCalls(None, None, 0)
    names, numbers = (ctypes.c_char_p * count)(), (ctypes.c_uint64 * count)()
    count = min(count, runtime.torchAclnnHostCalls(names, numbers, count))
    counted = {(names[i] or b"").decode(): numbers[i] for i in range(count)}
    return dict(sorted(counted.items()))


def reset_calls() -> None:
    """Set the counts of :func:`calls` to zero.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device.

    """
    _host_runtime().torchAclnnHostResetCalls()


def _host_runtime() -> ctypes.CDLL:
    runtime = loaded_library("libascendcl.so")
    if runtime is None or not is_active():
        raise RuntimeError("torch_aclnn.host.calls: the host engine is not active in this process")
    runtime.torchAclnnHostCalls.restype = ctypes.c_size_t
    runtime.torchAclnnHostCalls.argtypes = [
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.POINTER(ctypes.c_uint64),
        ctypes.c_size_t,
    ]
    return runtime
