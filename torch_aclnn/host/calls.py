"""Counts of what the host engine ran."""

import sys

from torch_aclnn.host import registry
from torch_aclnn.loading.engine import is_active


def calls() -> dict[str, int]:
    """Return how often each aclnn entry point has run on the host engine in this process.

    What the program has launched on the current device is waited for, as :func:`torch.npu.synchronize` does.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device; it does not count. Or something that was waited for has failed.

    Example:
        >>> import torch_aclnn, torch
        >>> torch_aclnn.host.reset_calls()
        >>> _ = torch.ones(2, device="npu").exp()
        >>> torch_aclnn.host.calls()["aclnnExp"]
        1

    """
    synchronize()
    return registry.counts()


def cache_hits() -> int:
    """Return how many calls took an executor of an earlier call, without phase 1, since the process started.

    torch_npu looks for one before each call: the same entry point with the same shapes, dtypes, layouts, numbers and addresses. The
    environment variable ``ACLNN_CACHE_LIMIT`` is the number of executors that are kept, 10000 by default; 0 turns the cache off.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device; it does not count.

    Example:
        >>> import torch_aclnn
        >>> torch_aclnn.host.cache_hits() >= 0
        True

    """
    synchronize()
    return registry.cache_hits()


def reset_calls() -> None:
    """Set the counts of :func:`calls` to zero, once what has been launched is done.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device. Or something that was waited for has failed.

    """
    synchronize()
    registry.reset_counts()


def synchronize() -> None:
    """Wait for what has been launched on the current device: a call may still be in torch_npu's queue.

    A stream that records a graph runs nothing, and may not be waited for.
    """
    npu = getattr(sys.modules.get("torch"), "npu", None)
    if npu is not None and is_active() and npu.is_initialized() and not npu.is_current_stream_capturing():
        npu.synchronize()
