"""Counts of what the host engine ran."""

import dataclasses
import sys
from collections.abc import Iterable
from ctypes import c_char_p, c_size_t, c_uint32, c_uint64
from dataclasses import dataclass
from typing import Any, TypeVar

from torch_aclnn.host import records, registry
from torch_aclnn.host.dry_run import ValueRead, value_reads
from torch_aclnn.loading.engine import is_active
from torch_aclnn.loading.loader import loaded_library

_Record = records.kind(size=c_size_t, name=c_char_p, communicator=c_char_p, ranks=c_uint32, calls=c_uint64, bytes=c_uint64)


@dataclass(frozen=True)
class CollectiveBytes:
    """What one function of HCCL has moved on one communicator.

    Attributes:
        name: of the function, as ``HcclAllReduce``; empty in the one entry of a communicator that has not been used.
        communicator: its name, as ``HcclGetCommName`` has it.
        ranks: how many the communicator has.
        calls: how often it has been called.
        bytes: the sum over the calls of the bytes that each read or wrote in this rank's memory, whichever is more.

    """

    name: str
    communicator: str
    ranks: int
    calls: int
    bytes: int


@dataclass(frozen=True)
class Statistics:
    """What the host engine has run in this process since it started, or since the last :func:`torch_aclnn.host.reset`.

    The difference of two is what has been run in between.

    Attributes:
        calls: how often each aclnn entry point has run, by name.
        cache_hits: how many calls took an executor of an earlier call, without phase 1. torch_npu looks for one before each call: the same
            entry point with the same shapes, dtypes, layouts and numbers. The environment variable ``ACLNN_CACHE_LIMIT`` is the number of
            executors that are kept, 10000 by default; 0 turns the cache off.
        collectives: calls and bytes of each function of HCCL on each communicator.
        value_reads: reads by the host of values that a dry run does not know, the most frequent first.

    """

    calls: dict[str, int]
    cache_hits: int
    collectives: tuple[CollectiveBytes, ...]
    value_reads: tuple[ValueRead, ...]

    def __sub__(self, earlier: "Statistics") -> "Statistics":
        """Return what has been run since the earlier statistics."""
        calls = {name: count - earlier.calls.get(name, 0) for name, count in self.calls.items()}
        reads = _less(self.value_reads, earlier.value_reads, ("count", "bytes"))
        return Statistics(
            {name: count for name, count in calls.items() if count > 0},
            self.cache_hits - earlier.cache_hits,
            tuple(_less(self.collectives, earlier.collectives, ("calls", "bytes"))),
            tuple(sorted((read for read in reads if read.count), key=lambda read: -read.count)),
        )


NOTHING = Statistics({}, 0, (), ())
_at_reset = NOTHING


def statistics() -> Statistics:
    """Return what the host engine has run in this process, once what has been launched on the current device is done.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device; it does not count. Or something that was waited for has failed.

    Example:
        >>> import torch_aclnn, torch
        >>> torch_aclnn.host.reset()
        >>> _ = torch.ones(2, device="npu").exp()
        >>> torch_aclnn.host.statistics().calls["aclnnExp"]
        1

    """
    return since_start() - _at_reset


def reset() -> None:
    """Restart the counts of :func:`statistics`; it raises what that raises."""
    global _at_reset
    _at_reset = since_start()


def synchronize() -> None:
    """Wait for what has been launched on the current device: a call may still be in torch_npu's queue.

    A stream that records a graph runs nothing, and must not be waited for.
    """
    npu = getattr(sys.modules.get("torch"), "npu", None)
    if npu is not None and is_active() and npu.is_initialized() and not npu.is_current_stream_capturing():
        npu.synchronize()


def since_start() -> Statistics:
    """Return the statistics since the process started."""
    synchronize()
    return Statistics(registry.counts(), registry.cache_hits(), tuple(_collectives()), tuple(value_reads()))


def _collectives() -> list[CollectiveBytes]:
    library = loaded_library("libhccl.so")
    if library is None:
        return []
    found = records.all_of(library.torchAclnnHostCollectives, _Record)
    return [CollectiveBytes(r.name.decode(), r.communicator.decode(), r.ranks, r.calls, r.bytes) for r in found]


_Row = TypeVar("_Row", CollectiveBytes, ValueRead)


def _less(rows: Iterable[_Row], earlier: Iterable[_Row], counted: tuple[str, str]) -> list[_Row]:
    """Return the rows, with the counts of earlier rows subtracted."""
    zero: dict[str, Any] = dict.fromkeys(counted, 0)
    before = {dataclasses.replace(row, **zero): row for row in earlier}

    def less(row: _Row) -> _Row:
        then = before.get(dataclasses.replace(row, **zero))
        changes: dict[str, Any] = {name: getattr(row, name) - getattr(then, name) for name in counted} if then else {}
        return dataclasses.replace(row, **changes)

    return [less(row) for row in rows]
