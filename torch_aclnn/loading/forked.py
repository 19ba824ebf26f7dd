"""Processes that are forked from one in which torch_npu works: on the host engine they can do anything but use ``npu``."""

import atexit
import os
import sys


def prepare_children() -> None:
    """Have forked processes leave out what would wait for threads that only their parent has.

    They are torch_npu's synchronisation at exit, and its use after ``os.fork``: of that it knows only where multiprocessing forks.
    """
    module = sys.modules.get("torch_npu._init.core.runtime_lifecycle") or sys.modules["torch_npu"]
    shutdown, npu = module._npu_shutdown, sys.modules["torch_npu.npu"]

    def begin_child() -> None:
        atexit.unregister(shutdown)
        npu._after_fork(None)

    os.register_at_fork(after_in_child=begin_child)
