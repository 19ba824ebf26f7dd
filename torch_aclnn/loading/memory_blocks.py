"""Reports of torch_npu's caching allocator to the engine's check of streams, which cannot see its blocks otherwise."""

import ctypes
import os

from torch_aclnn.loading.cann import RUNTIME_LIBRARIES
from torch_aclnn.loading.modes import is_on


def prepare() -> None:
    """Make torch_npu launch each operator where the program calls it, so that launches and blocks come in the program's order."""
    if is_on("check_streams"):
        os.environ.setdefault("TASK_QUEUE_ENABLE", "0")


def watch() -> None:
    """Tell the engine of each block that torch_npu's allocator gives out from now on; torch_npu has to be imported."""
    if not is_on("check_streams"):
        return
    import torch_npu
    from torch_npu.npu._sanitizer import SanitizerMode
    from torch_npu.utils import _npu_trace

    block_allocated = ctypes.CDLL(RUNTIME_LIBRARIES[0]).torchAclnnHostBlockAllocated
    block_allocated.argtypes = [ctypes.c_void_p]
    block_allocated.restype = None
    _npu_trace.register_callback_for_npu_memory_allocation(block_allocated, "torchAclnnHostBlockAllocated")
    torch_npu._C._activate_npu_trace(SanitizerMode.STREAM)
