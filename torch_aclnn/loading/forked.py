"""Processes that are forked from one in which torch_npu works: on the host engine they can do anything but use ``npu``."""

import atexit
import os
import sys


def skip_shutdown_in_children() -> None:
    """Have forked processes leave out torch_npu's synchronisation at exit, which would wait for threads that only their parent has."""
    module = sys.modules.get("torch_npu._init.core.runtime_lifecycle") or sys.modules["torch_npu"]
    shutdown = module._npu_shutdown
    os.register_at_fork(after_in_child=lambda: atexit.unregister(shutdown))
