"""The host engine: CANN's documented C interface on the CPU, under which the unmodified torch_npu runs without an NPU.

Nothing here but ``collectives`` imports torch, so that the command line works where torch does not.
"""

from torch_aclnn.host.counts import reset, statistics
from torch_aclnn.host.dry_run import is_dry_run
from torch_aclnn.host.faults import inject
from torch_aclnn.loading.engine import is_active

__all__ = ["inject", "is_active", "is_dry_run", "reset", "statistics"]

# Names of earlier releases, each with what has replaced it.
_NOW = {
    "activate": "done by the import of torch_aclnn",
    "cache_hits": "statistics().cache_hits",
    "calls": "statistics().calls",
    "check_versions": "done by the import of torch_aclnn",
    "collective_bytes": "statistics().collectives",
    "implement": "a library in ASCEND_CUSTOM_OPP_PATH (docs/missing_entry_point.md)",
    "includedir": "printed by torch-aclnn config --includedir",
    "libdir": "printed by torch-aclnn config --libdir",
    "reset_calls": "reset()",
    "value_reads": "statistics().value_reads",
}


def __getattr__(name: str) -> None:
    now = f"is now {_NOW[name]}" if name in _NOW else "does not exist"
    raise AttributeError(f"torch_aclnn.host.{name} {now}")


def __dir__() -> list[str]:
    return sorted(__all__)
