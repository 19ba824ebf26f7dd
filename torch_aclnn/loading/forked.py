"""Processes that are forked from one that uses torch_npu: on the host engine they can do anything but use ``npu``."""

import atexit
import os
import sys
from collections.abc import Callable


def shutdown() -> Callable[[], None]:
    """Return the function with which torch_npu synchronises at exit."""
    module = sys.modules.get("torch_npu._init.core.runtime_lifecycle") or sys.modules["torch_npu"]
    found: Callable[[], None] = module._npu_shutdown
    return found


def prepare_children() -> None:
    """Make forked processes leave out what would wait for threads that only their parent has.

    These are torch_npu's synchronisation at exit, and any use after ``os.fork``; torch_npu itself notices only forks of multiprocessing.
    """
    npu = sys.modules["torch_npu.npu"]

    def begin_child() -> None:
        atexit.unregister(shutdown())
        npu._after_fork(None)

    os.register_at_fork(after_in_child=begin_child)
