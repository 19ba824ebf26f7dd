"""Processes that are forked from one in which torch_npu works: on the host engine they can do anything but use ``npu``."""

import atexit
import os
import sys
from collections.abc import Callable


def shutdown() -> Callable[[], None]:
    """Return torch_npu's synchronisation at exit."""
    module = sys.modules.get("torch_npu._init.core.runtime_lifecycle") or sys.modules["torch_npu"]
    found: Callable[[], None] = module._npu_shutdown
    return found


def prepare_children() -> None:
    """Have forked processes leave out what would wait for threads that only their parent has.

    They are torch_npu's synchronisation at exit, and its use after ``os.fork``: of that it knows only where multiprocessing forks.
    """
    npu = sys.modules["torch_npu.npu"]

    def begin_child() -> None:
        atexit.unregister(shutdown())
        npu._after_fork(None)

    os.register_at_fork(after_in_child=begin_child)
