"""Loading torch_npu together with torch's CUDA build; csrc/loading/allocator_keys.cpp says why that takes a library."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from torch_aclnn.loading.paths import libdir


@contextmanager
def set_aside() -> Iterator[None]:
    """Set aside the allocator options that torch knows, so that torch_npu can register its own, some of which have the same names."""
    path = libdir() / "libtorch_aclnn_allocator_keys.so"
    if not path.exists():  # the build was for a torch_npu that registers no options
        yield
        return
    library = ctypes.CDLL(str(path))
    library.torchAclnnSetAllocatorKeysAside()
    try:
        yield
    finally:
        library.torchAclnnRestoreAllocatorKeys()
