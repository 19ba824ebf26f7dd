"""The runtime, for calls of operators by name."""

import ctypes

import torch_aclnn
import pytest
from torch_aclnn.loading.paths import libdir

from support.runtime import Runtime


@pytest.fixture
def acl() -> Runtime:
    """Return the runtime with device 0 chosen on this thread and no error left over."""
    assert torch_aclnn.host.is_active()
    library = Runtime(str(libdir() / "libascendcl.so"), mode=ctypes.RTLD_GLOBAL)
    library.ok("aclrtSetDevice", 0)
    library.aclGetRecentErrMsg()
    return library
