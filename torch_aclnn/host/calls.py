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


def reset_calls() -> None:
    """Set the counts of :func:`calls` to zero.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device.

    """
    registry.reset_counts()
