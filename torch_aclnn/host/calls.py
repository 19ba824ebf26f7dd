"""Counts of what the host engine ran."""

from torch_aclnn.host import registry


def calls() -> dict[str, int]:
    """Return how often each aclnn entry point has run on the host engine in this process.

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
    return registry.cache_hits()


def reset_calls() -> None:
    """Set the counts of :func:`calls` to zero.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device.

    """
    registry.reset_counts()
