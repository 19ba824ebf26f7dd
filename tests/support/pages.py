"""Tensors that end where the memory that can be read ends."""

import ctypes
import math
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

_libc = ctypes.CDLL(None, use_errno=True)
_NO_ACCESS = 0  # PROT_NONE


@contextmanager
def copy_before_unreadable_page(tensor: Tensor) -> Iterator[Tensor]:
    """Give a contiguous copy; a read of the byte behind it ends the process by a signal."""
    pages = math.ceil(tensor.nbytes / mmap.PAGESIZE)
    memory = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
    end = pages * mmap.PAGESIZE
    copy = torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=end - tensor.nbytes).view(tensor.shape)
    copy.copy_(tensor)
    behind = copy.data_ptr() + tensor.nbytes
    if _libc.mprotect(ctypes.c_void_p(behind), ctypes.c_size_t(mmap.PAGESIZE), _NO_ACCESS) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    yield copy  # the mapping lives as long as the tensor
