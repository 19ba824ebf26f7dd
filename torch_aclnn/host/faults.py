"""Faults on purpose, for tests of code that recovers from failures (``include/torch_aclnn/faults.h``)."""

import contextlib
import ctypes
import threading
from collections.abc import Iterator

from torch_aclnn.host.registry import host_runtime

_one_at_a_time = threading.Lock()


class Injection:
    """The faults of one :func:`torch_aclnn.host.inject`."""

    def __init__(self) -> None:
        self._at_the_end: int | None = None

    @property
    def count(self) -> int:
        """How many faults have happened; after the context, how many there were in it."""
        return _count() if self._at_the_end is None else self._at_the_end

    def _end(self) -> None:
        self._at_the_end = _count()


@contextlib.contextmanager
def inject(faults: str, message: str | None = None, last_error: int = 0) -> Iterator[Injection]:
    """Make the host engine fail as the text says, in all threads, within the context.

    The grammar is that of ``TORCH_ACLNN_HOST_FAULT`` (see the page on fault injection), whose faults, if there are any, end with the first
    use of this function. Calls are counted from the beginning of the context. At its end streams that died and devices that were lost are
    usable again; what is still in torch_npu's queue then runs without faults, so synchronise within the context.

    Args:
        faults: as ``"alloc:1-"``, ``"aclnnAdd:2=561000"`` or ``"aclnnMatmul@run:4,stream:9"``.
        message: what the functions that fail leave for ``aclGetRecentErrMsg``; torch_npu tells by words in it, such as
            ``"reason=[hbm Multi-bit ECC error]"`` and ``"EL0004"``, what kind of failure it is. A text that names the fault by default.
        last_error: the code that they leave for ``aclrtPeekAtLastError``, as 507054; that of the failure by default.

    Yields:
        An object whose ``count`` is how many faults have happened.

    Raises:
        ValueError: the text is not in the grammar.
        RuntimeError: another context of this function lasts in this process, or CANN answers on the ``npu`` device.

    Example:
        >>> import torch_aclnn, torch
        >>> x = torch.ones(2, device="npu")
        >>> with torch_aclnn.host.inject("aclnnExp@run:1") as injected:
        ...     try:
        ...         _ = x.exp()
        ...         torch.npu.synchronize()
        ...     except RuntimeError as error:
        ...         print("aclnnExp" in str(error), injected.count)
        True 1

    """
    if not _one_at_a_time.acquire(blocking=False):
        raise RuntimeError("torch_aclnn.host.inject: faults are being injected already; put them in one text, with commas between them")
    try:
        _set_faults(faults)
        host_runtime().torchAclnnHostSetFaultError(None if message is None else message.encode(), ctypes.c_int(last_error))
        injection = Injection()
        try:
            yield injection
        finally:
            injection._end()
            _set_faults("")
    finally:
        _one_at_a_time.release()


def _count() -> int:
    count = host_runtime().torchAclnnHostInjectedFaults
    count.restype = ctypes.c_uint64
    return int(count())


def _set_faults(faults: str) -> None:
    runtime = host_runtime()
    if runtime.torchAclnnHostSetFaults(ctypes.c_char_p(faults.encode())) == 0:
        return
    runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
    message = runtime.aclGetRecentErrMsg().decode()
    raise ValueError(message.replace("torchAclnnHostSetFaults", "torch_aclnn.host.inject", 1))
