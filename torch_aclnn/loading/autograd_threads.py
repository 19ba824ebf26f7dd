"""The end of a process in which autograd used ``npu``.

A thread of autograd releases what it used shortly after the caller has the result, such as tensors that Python knows, for which it takes
the GIL. If the interpreter ends meanwhile, Python unwinds that thread, through frames of torch that end the process instead ("terminate
called without an active exception").
"""

import atexit
import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from torch_aclnn.loading.engine import ATEN_ADAPTERS
from torch_aclnn.loading.paths import libdir

_THREADS = Path("/proc/self/task")
_NAME = "pt_autograd_"


def finish_at_exit() -> None:
    """Make the process wait, before the interpreter ends, until the threads of autograd have released what they used."""
    atexit.register(_finish_autograd_threads)
    os.register_at_fork(after_in_child=lambda: atexit.unregister(_finish_autograd_threads))  # a forked process has no such threads


def _finish_autograd_threads() -> None:
    finish = ctypes.CDLL(str(libdir() / ATEN_ADAPTERS)).torchAclnnHostFinishAutograd
    finish.argtypes, finish.restype = [ctypes.c_int], None
    for device in _devices():
        finish(device)


def _devices() -> Iterator[int]:
    """Yield the devices that autograd has a thread for."""
    for name in _THREADS.glob("*/comm"):
        with suppress(OSError):  # raised for a thread that has ended
            thread = name.read_text().strip()
            if thread.startswith(_NAME):
                yield int(thread.removeprefix(_NAME))
