"""The host engine: CANN's documented C interface on the CPU, under which the unmodified torch_npu runs without an NPU.

Nothing here but ``collectives`` and ``python_functions`` imports torch, so that the command line works where torch does not.
"""

from torch_aclnn.host.calls import cache_hits, calls, reset_calls
from torch_aclnn.host.communication import CollectiveBytes, collective_bytes
from torch_aclnn.host.dry_run import ValueRead, is_dry_run, value_reads
from torch_aclnn.host.faults import Injection, inject
from torch_aclnn.loading.engine import activate, is_active
from torch_aclnn.loading.paths import includedir, libdir
from torch_aclnn.loading.versions import check_versions

__all__ = [
    "CollectiveBytes",
    "Injection",
    "ValueRead",
    "activate",
    "cache_hits",
    "calls",
    "check_versions",
    "collective_bytes",
    "includedir",
    "inject",
    "is_active",
    "is_dry_run",
    "libdir",
    "reset_calls",
    "value_reads",
]


def __dir__() -> list[str]:
    return sorted(__all__)
