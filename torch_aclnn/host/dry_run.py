"""Dry runs, in which the engine computes only small tensors of known values."""

import re
from ctypes import c_char_p, c_size_t, c_uint64
from dataclasses import dataclass

from torch_aclnn.host import records
from torch_aclnn.host.registry import host_runtime
from torch_aclnn.loading.engine import is_active

_FRAME = re.compile(r'File "(.+)", line (\d+) in (.+)')

_Record = records.kind(size=c_size_t, stack=c_char_p, count=c_uint64, bytes=c_uint64)


@dataclass(frozen=True)
class ValueRead:
    """Reads by the host of values that a dry run does not know.

    Attributes:
        stack: who read: file, line and function of each call in Python, the innermost first; empty for a thread without Python.
        count: how many copies to the host there were.
        bytes: of all of them.

    """

    stack: tuple[tuple[str, int, str], ...]
    count: int
    bytes: int


def is_dry_run() -> bool:
    """Return whether this process is a dry run: the host engine answers, and ``TORCH_ACLNN_HOST_COMPUTE`` is 0.

    Example:
        >>> import torch_aclnn
        >>> torch_aclnn.host.is_dry_run()
        False

    """
    return is_active() and bool(host_runtime().torchAclnnHostIsDryRun())


def value_reads() -> list[ValueRead]:
    """Return the reads so far of values that this dry run does not know, the most frequent first.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device.

    Example:
        >>> from torch_aclnn.host.dry_run import value_reads
        >>> value_reads()
        []

    """
    found = records.all_of(host_runtime().torchAclnnHostValueReads, _Record)
    reads = [ValueRead(_frames(record.stack.decode(errors="replace")), record.count, record.bytes) for record in found]
    return sorted(reads, key=lambda read: -read.count)


def _frames(stack: str) -> tuple[tuple[str, int, str], ...]:
    return tuple((file, int(line), function) for file, line, function in _FRAME.findall(stack))
