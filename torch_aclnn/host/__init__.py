"""The host engine: CANN's documented C interface on the CPU, under which the unmodified torch_npu runs without an NPU.

Nothing here but ``collectives`` imports torch, so that the command line works where torch does not.
"""

from torch_aclnn.host.counts import CollectiveBytes, Statistics, reset, statistics
from torch_aclnn.host.dry_run import ValueRead, is_dry_run
from torch_aclnn.host.faults import Injection, inject
from torch_aclnn.loading.engine import is_active
from torch_aclnn.loading.paths import includedir, libdir

__all__ = [
    "CollectiveBytes",
    "Injection",
    "Statistics",
    "ValueRead",
    "includedir",
    "inject",
    "is_active",
    "is_dry_run",
    "libdir",
    "reset",
    "statistics",
]


def __dir__() -> list[str]:
    return sorted(__all__)
